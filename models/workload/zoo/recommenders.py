"""Recommendation models: tables of categories beside products."""

from net import Net

# Rows of each of the Criteo Terabyte data set's 26 tables where what occurs less than 15 times
# shares one (NVIDIA's "small" model), as a configuration that repeats NVIDIA's runs lists them
# (pipeline criteo_8_2_2_2500000; the sum times 512 bytes is the 15.6 GiB of a small model).
CRITEO_15 = (7912889, 33823, 17139, 7339, 20046, 4, 7105, 1382, 63, 5554114, 582469, 245828, 11,
             2209, 10667, 104, 4, 968, 15, 8165896, 2675940, 7156453, 302516, 12022, 97, 35)
NUMBERS = 13
WIDTH = 128


def dlrm():
    """Naumov et al. 2019 (arXiv:1906.00091), as NVIDIA trains it on Criteo Terabyte."""
    net = Net(name="dlrm",
              source="Naumov et al. 2019 (arXiv:1906.00091), as NVIDIA/DeepLearningExamples 00100f2,"
                     " PyTorch/Recommendation/DLRM has it: layers of 512, 256, 128 and of 1024,"
                     " 1024, 512, 256, 1, vectors of 128",
              input_shape=[NUMBERS + len(CRITEO_15)],
              note=f"13 numbers and {len(CRITEO_15)} categories of the Criteo Terabyte data set,"
                   f" those that occur at least 15 times ({sum(CRITEO_15):,} rows): the small one of"
                   " NVIDIA's models.")
    net.add("categories", "Slice", "data", count=len(CRITEO_15))
    net.add("tables", "SparseEmbedding", "categories", num_output=WIDTH, vocabulary=sum(CRITEO_15))
    blob = net.add("numbers", "Slice", "data", count=NUMBERS)
    for i, outputs in enumerate((512, 256, WIDTH), start=1):
        blob = net.relu(f"bottom{i}/relu",
                        net.add(f"bottom{i}", "InnerProduct", blob, num_output=outputs))
    blob = net.add("interaction", "DotInteraction", ["tables", blob])
    for i, outputs in enumerate((1024, 1024, 512, 256), start=1):
        blob = net.relu(f"top{i}/relu",
                        net.add(f"top{i}", "InnerProduct", blob, num_output=outputs))
    scores = net.add("click", "InnerProduct", blob, num_output=1)
    net.add("loss", "SigmoidCrossEntropyLoss", [scores, "label"])
    return net
