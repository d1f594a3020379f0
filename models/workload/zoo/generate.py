#!/usr/bin/env python3
"""Writes the zoo's regular networks: python3 models/workload/zoo/generate.py

Each function below is one network, built from its publication's blocks. The JSON files are what the
program reads; tests compare their totals with the published ones. BatchNorm and ReLU work in place
where nothing else reads their input, and a residual sum is written into its first operand, as
frameworks that plan their memory do.
"""

import json
import math
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


class Net:
    """A list of layers; methods return the name of the blob that they write."""

    def __init__(self, **header):
        self.header = header
        self.layers = [{"name": "data", "type": "Data", "top": ["data", "label"]}]
        self.auxiliary = False

    def add(self, name, kind, bottom, top=None, **options):
        layer = {"name": name, "type": kind, "bottom": bottom}
        if top is not None:
            layer["top"] = top
        layer.update({key: value for key, value in options.items() if value is not None})
        if self.auxiliary:
            layer["auxiliary"] = True
        self.layers.append(layer)
        return top or name

    def conv(self, name, bottom, filters, kernel, stride=1, pad=0, bias=False, group=None):
        return self.add(name, "Convolution", bottom, num_output=filters, kernel_size=kernel,
                        stride=None if stride == 1 else stride, pad=None if pad == 0 else pad,
                        group=group, bias_term=None if bias else False)

    def norm(self, name, bottom, in_place=True):
        return self.add(name, "BatchNorm", bottom, bottom if in_place else None, scale_bias=True)

    def relu(self, name, bottom, in_place=True):
        return self.add(name, "ReLU", bottom, bottom if in_place else None)

    def conv_norm_relu(self, name, bottom, filters, kernel, stride=1, pad=0, bias=False,
                       group=None):
        top = self.conv(name, bottom, filters, kernel, stride, pad, bias, group)
        self.norm(name + "/bn", top)
        return self.relu(name + "/relu", top)

    def deconv(self, name, bottom, filters, kernel, stride, pad=0, output_padding=None):
        return self.add(name, "Deconvolution", bottom, num_output=filters, kernel_size=kernel,
                        stride=stride, pad=None if pad == 0 else pad, output_padding=output_padding)

    def pool(self, name, bottom, kind, kernel, stride=1, pad=0, rounding=None):
        return self.add(name, "Pooling", bottom, pool=kind, kernel_size=kernel,
                        stride=None if stride == 1 else stride, pad=None if pad == 0 else pad,
                        round_mode=rounding)

    def global_pool(self, name, bottom):
        return self.add(name, "Pooling", bottom, pool="AVE", global_pooling=True)

    def sum(self, name, first, second):
        return self.add(name, "Eltwise", [first, second], first)

    def classify(self, bottom, classes, name="fc", loss="loss"):
        scores = self.add(name, "InnerProduct", bottom, num_output=classes)
        self.add(loss, "SoftmaxWithLoss", [scores, "label"])

    def write(self):
        rows = ",\n".join("    " + json.dumps(layer) for layer in self.layers)
        head = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
                          for key, value in self.header.items())
        path = FOLDER / (self.header["name"] + ".json")
        path.write_text("{\n" + head + ',\n  "layers": [\n' + rows + "\n  ]\n}\n", encoding="utf-8")


def squeeze_and_excite(net, name, blob, channels, squeezed, activation="ReLU", bias=True):
    """Hu et al., CVPR 2018: a factor a channel from the channels' means."""
    gate = net.global_pool(name + "/pool", blob)
    gate = net.conv(name + "/down", gate, squeezed, 1, bias=bias)
    gate = net.add(name + "/act", activation, gate, gate if activation == "ReLU" else None)
    gate = net.conv(name + "/up", gate, channels, 1, bias=bias)
    net.add(name + "/sigmoid", "Sigmoid", gate, gate)
    return net.add(name + "/scale", "Multiply", [blob, gate])


def bottlenecks(net, units, groups=1, width=64, excite=False, unstrided=()):
    """Blocks with the stride in the 3x3 convolution, `width` filters in it at first; each stage's
    output. `unstrided` stages keep the size."""
    blob = net.conv_norm_relu("conv1", "data", 64, 7, 2, 3)
    blob = net.pool("pool1", blob, "MAX", 3, 2, 1, "FLOOR")
    stages = []
    for stage, count in enumerate(units):
        filters, out = width * 2**stage, 256 * 2**stage
        for unit in range(count):
            prefix = f"res{stage + 2}_{unit + 1}"
            stride = 2 if unit == 0 and stage > 0 and stage not in unstrided else 1
            shortcut = blob
            if unit == 0:
                shortcut = net.conv(prefix + "/shortcut", blob, out, 1, stride)
                net.norm(prefix + "/shortcut/bn", shortcut)
            inner = net.conv_norm_relu(prefix + "/1x1_reduce", blob, filters, 1)
            inner = net.conv_norm_relu(prefix + "/3x3", inner, filters, 3, stride, 1,
                                       group=None if groups == 1 else groups)
            inner = net.conv(prefix + "/1x1_increase", inner, out, 1)
            net.norm(prefix + "/1x1_increase/bn", inner)
            if excite:
                inner = squeeze_and_excite(net, prefix + "/se", inner, out, out // 16)
            blob = net.relu(prefix + "/relu", net.sum(prefix + "/sum", inner, shortcut))
        stages.append(blob)
    return stages


def resnet_v15(name, source, published, units, groups=1, width=64, excite=False):
    net = Net(name=name, source=source, input_shape=[3, 224, 224], published=published,
              note="The stride is in the 3x3 convolution of a block (version 1.5).")
    blob = bottlenecks(net, units, groups, width, excite)[-1]
    net.classify(net.global_pool("pool5", blob), 1000)
    return net


DLE = "NVIDIA/DeepLearningExamples"


def ssd300():
    """Liu et al., ECCV 2016, on ResNet-50's first three stages."""
    net = Net(
        name="ssd300-resnet-50",
        source=f"Liu et al., ECCV 2016 (arXiv:1512.02325) on ResNet-50, as {DLE} 0409902, "
               "PyTorch/Detection/SSD/ssd/model.py has it, 300x300, 81 classes",
        input_shape=[3, 300, 300],
        note="The third stage of ResNet-50 keeps 38x38. What the loss sorts (8,732 boxes an image) and "
             "what finds the boxes' truth is left out.")
    blob = bottlenecks(net, (3, 4, 6), unstrided=(2,))[-1]
    maps = [blob]
    for i, (inner, out) in enumerate(((256, 512), (256, 512), (128, 256), (128, 256), (128, 256))):
        name = f"extra{i + 1}"
        blob = net.conv_norm_relu(name + "/1x1", blob, inner, 1)
        blob = net.conv_norm_relu(name + "/3x3", blob, out, 3, *((2, 1) if i < 3 else (1, 0)))
        maps.append(blob)
    for i, (blob, boxes) in enumerate(zip(maps, (4, 6, 6, 6, 4, 4))):
        for name, values in (("place", 4), ("class", 81)):
            head = net.conv(f"{name}{i + 1}", blob, boxes * values, 3, 1, 1, bias=True)
            net.add(f"{name}{i + 1}/loss", "SoftmaxWithLoss", [head, "label"])
    return net


def pyramid(net, stages):
    """Lin et al., CVPR 2017: a map of 256 channels of each stage, the coarsest first."""
    fine = None
    for i, stage in reversed(list(enumerate(stages))):
        name = f"pyramid{i + 2}"
        side = net.conv(name + "/1x1", stage, 256, 1, bias=True)
        if fine is not None:
            side = net.sum(name + "/sum", side, net.add(name + "/upsample", "Upsample", fine, scale=2))
        fine = side
        yield net.conv(name + "/3x3", side, 256, 3, 1, 1, bias=True)


def frozen(net):
    """Detectors keep BatchNorm as it was: neither statistics nor scale are learned."""
    net.norm = lambda name, bottom, in_place=True: net.add(
        name, "BatchNorm", bottom, bottom if in_place else None)
    return net


def mask_rcnn_backbone():
    """He et al., ICCV 2017: ResNet-50, its pyramid and the heads that propose regions."""
    net = frozen(Net(
        name="mask-r-cnn-backbone",
        source="He et al., ICCV 2017 (arXiv:1703.06870); Lin et al., CVPR 2017 (arXiv:1612.03144); "
               "as torchvision's maskrcnn_resnet50_fpn, 800x1344",
        input_shape=[3, 800, 1344],
        published={"parameters": 27393231, "source": "torchvision maskrcnn_resnet50_fpn: trainable "
                   "values of backbone (26,799,296) and rpn (593,935) with all layers trained"},
        note="What comes after the proposals is left out: choosing them, aligned pooling, box and mask "
             "heads. Images of 800x1344, the largest that training pads to."))
    maps = list(pyramid(net, bottlenecks(net, (3, 4, 6, 3))))
    maps.insert(0, net.pool("pyramid6", maps[0], "MAX", 1, 2))
    for i, blob in enumerate(maps):
        tied = {"tied": True, "bias_term": False} if i > 0 else {}
        inner = net.add(f"proposals{i + 1}/3x3", "Convolution", blob, num_output=256, kernel_size=3,
                        pad=1, **tied)
        net.relu(f"proposals{i + 1}/relu", inner)
        for name, values in (("class", 3), ("box", 12)):
            head = net.add(f"proposals{i + 1}/{name}", "Convolution", inner, num_output=values,
                           kernel_size=1, **tied)
            net.add(f"proposals{i + 1}/{name}/loss", "SoftmaxWithLoss", [head, "label"])
    return net


def retinanet(name, source, shape, classes, published, note, groups=1, width=64):
    """Lin et al., ICCV 2017: a pyramid of five maps, four convolutions and a head for each task."""
    net = frozen(Net(name=name, source="Lin et al., ICCV 2017 (arXiv:1708.02002), as " + source,
                     input_shape=shape, **published,
                     note=note + "Matching boxes to their truth is left out."))
    stages = bottlenecks(net, (3, 4, 6, 3), groups, width)
    maps = list(pyramid(net, stages[1:]))[::-1]
    maps.append(net.conv("pyramid6", maps[-1], 256, 3, 2, 1, bias=True))
    maps.append(net.conv("pyramid7", net.relu("pyramid6/relu", maps[-1], in_place=False), 256, 3, 2, 1,
                         bias=True))
    for i, blob in enumerate(maps):
        tied = {"tied": True, "bias_term": False} if i > 0 else {}
        for task, values in (("class", 9 * classes), ("box", 9 * 4)):
            inner = blob
            for j in range(4):
                inner = net.add(f"{task}{i + 1}/conv{j + 1}", "Convolution", inner, num_output=256,
                                kernel_size=3, pad=1, **tied)
                net.relu(f"{task}{i + 1}/relu{j + 1}", inner)
            head = net.add(f"{task}{i + 1}", "Convolution", inner, num_output=values, kernel_size=3,
                           pad=1, **tied)
            net.add(f"{task}{i + 1}/loss", "SoftmaxWithLoss", [head, "label"])
    return net


def retinanets():
    yield retinanet(
        "retinanet-resnet-50", "torchvision's retinanet_resnet50_fpn, 800x1088, 91 classes",
        [3, 800, 1088], 91,
        {"published": {"parameters": 34014999,
                       "source": "torchvision retinanet_resnet50_fpn: num_params"}},
        "Images of COCO have 640x480 in the median, 800x1067 where the shorter side is 800, 1,088 "
        "padded. ")
    yield retinanet(
        "retinanet-resnext-50",
        "MLPerf trains it since 2.0 (mlcommons/training, single_stage_detector): ResNeXt-50 32x4d, "
        "800x800, 264 classes", [3, 800, 800], 264, {}, "", 32, 128)


def unet_medical():
    """Ronneberger et al., MICCAI 2015, as NVIDIA trains it: 3x3 transposed convolutions."""
    net = Net(
        name="u-net-medical",
        source=f"Ronneberger et al., MICCAI 2015 (arXiv:1505.04597), Figure 1, as {DLE} 3306ea2, "
               "TensorFlow/Segmentation/UNet_Medical/model has it, 572x572, 2 classes",
        input_shape=[1, 572, 572],
        note="Transposed convolutions are 3x3 there, 2x2 in the paper.")

    def pair(name, blob, filters):
        for i in (1, 2):
            blob = net.conv(f"{name}/conv{i}", blob, filters, 3, bias=True)
            net.relu(f"{name}/relu{i}", blob)
        return blob

    blob, side, kept = "data", 572, []
    for i, filters in enumerate((64, 128, 256, 512)):
        blob, side = pair(f"down{i + 1}", blob, filters), side - 4
        kept.append(blob)
        blob, side = net.pool(f"down{i + 1}/pool", blob, "MAX", 2, 2), side // 2
    blob, side = pair("bottom", blob, 1024), side - 4
    net.add("bottom/dropout", "Dropout", blob, blob)
    for i, filters in enumerate((512, 256, 128, 64)):
        name, side = f"up{i + 1}", 2 * side
        blob = net.deconv(name + "/deconv", blob, filters, 3, 2, 1, 1)
        net.relu(name + "/relu", blob)
        crop = net.add(name + "/crop", "Crop", kept.pop(), height=side, width=side)
        blob, side = pair(name, net.add(name + "/concat", "Concat", [blob, crop]), filters), side - 4
    scores = net.conv("classes", blob, 2, 1, bias=True)
    net.add("loss", "SoftmaxWithLoss", [scores, "label"])
    return net


def nn_unet_2d():
    """Isensee et al., Nature Methods 2021, as NVIDIA's code plans it for brain tumours."""
    net = Net(
        name="nn-unet-2d",
        source=f"Isensee et al., Nature Methods 18 (2021), as {DLE} 0053e6d, "
               "PyTorch/Segmentation/nnUNet/nnunet/nn_unet.py plans it for task 01 (four images of "
               "192x160, four classes): MONAI's DynUNet with six levels of 32 to 512 filters",
        input_shape=[4, 192, 160],
        note="InstanceNorm and LeakyReLU are taken as BatchNorm and ReLU: the same bytes. Cross entropy "
             "and Dice are one loss here.")

    def pair(name, blob, filters, stride=1):
        blob = net.conv_norm_relu(name + "/conv1", blob, filters, 3, stride, 1)
        return net.conv_norm_relu(name + "/conv2", blob, filters, 3, 1, 1)

    filters = [min(2**(5 + i), 512) for i in range(6)]
    kept = [pair("level1", "data", filters[0])]
    for i in range(1, 6):
        kept.append(pair(f"level{i + 1}", kept[-1], filters[i], 2))
    blob = kept.pop()
    for i in reversed(range(5)):
        up = net.deconv(f"up{i + 1}/deconv", blob, filters[i], 2, 2)
        blob = pair(f"up{i + 1}", net.add(f"up{i + 1}/concat", "Concat", [up, kept.pop()]), filters[i])
    scores = net.conv("classes", blob, 4, 1, bias=True)
    net.add("loss", "SoftmaxWithLoss", [scores, "label"])
    return net


def efficientnet(variant, width, depth, side, parameters):
    """Tan and Le, ICML 2019, Table 1, scaled by section 3.3."""
    def rounded(channels):
        wanted = channels * width
        near = max(8, int(wanted + 4) // 8 * 8)
        return near + 8 if near < 0.9 * wanted else near

    net = Net(name=f"efficientnet-{variant}",
              source=f"Tan and Le, ICML 2019 (arXiv:1905.11946), Table 1; {variant.upper()}: width "
                     f"{width}, depth {depth}, {side}x{side}",
              input_shape=[3, side, side],
              published={"parameters": parameters, "source": "torchvision efficientnet_"
                         f"{variant}: trainable values"},
              note="Stochastic depth is left out; the padding of 'same' convolutions is symmetric "
                   "here: the same sizes and counts.")

    def conv_norm(name, bottom, filters, kernel, stride=1, group=None, active=True):
        blob = net.conv(name, bottom, filters, kernel, stride, kernel // 2, group=group)
        net.norm(name + "/bn", blob)
        return net.add(name + "/swish", "SiLU", blob) if active else blob

    blob, channels = conv_norm("stem", "data", rounded(32), 3, 2), rounded(32)
    stages = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
              (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3))
    for index, (expand, filters, count, stride, kernel) in enumerate(stages):
        out = rounded(filters)
        for unit in range(math.ceil(depth * count)):
            prefix = f"block{index + 1}_{unit + 1}"
            inner, inside, step = blob, channels * expand, stride if unit == 0 else 1
            if expand > 1:
                inner = conv_norm(prefix + "/expand", inner, inside, 1)
            inner = conv_norm(prefix + "/depthwise", inner, inside, kernel, step, group=inside)
            inner = squeeze_and_excite(net, prefix + "/se", inner, inside, max(1, channels // 4),
                                       "SiLU")
            inner = conv_norm(prefix + "/project", inner, out, 1, active=False)
            blob = net.sum(prefix + "/sum", inner, blob) if channels == out and step == 1 else inner
            channels = out
    blob = net.global_pool("pool", conv_norm("head", blob, rounded(1280), 1))
    net.add("dropout", "Dropout", blob, blob)
    net.classify(blob, 1000)
    return net


def scored_attention(net, prefix, queries, values, heads, steps, dropout=True):
    """Products of queries and keys, what `steps` does to them, and the values' mix by them."""
    scores = net.add(prefix + "/scores", "AttentionScores", queries, heads=heads)
    for step in steps:
        net.add(f"{prefix}/{step.lower()}", "Attention" + step, scores, scores)
    if dropout:
        scores = net.add(prefix + "/dropout", "Dropout", scores)
    return net.add(prefix + "/mix", "AttentionMix", [scores, values],
                   heads=heads if isinstance(queries, str) else None)


def encoder_layer(net, prefix, blob, hidden, heads, inner):
    """Vaswani et al., NIPS 2017, section 3.1, normalised after the sum, as BERT has it."""
    def linear(name, bottom, outputs):
        blob = net.add(f"{prefix}/{name}", "Linear", bottom, num_output=outputs, bias_term=False)
        return net.add(f"{prefix}/{name}/bias", "Bias", blob, blob)

    def permute(name, blob):
        return net.add(f"{prefix}/{name}/permute", "Permute", blob, blob)

    def close(name, bottom, residual):
        net.add(f"{prefix}/{name}/dropout", "Dropout", bottom, bottom)
        total = net.sum(f"{prefix}/{name}/sum", bottom, residual)
        return net.add(f"{prefix}/{name}/norm", "LayerNorm", total)

    query, key, value = (permute("attention/" + name, linear("attention/" + name, blob, hidden))
                         for name in ("query", "key", "value"))
    mixed = scored_attention(net, prefix + "/attention", [query, key], value, heads,
                             ("Scale", "Mask", "Softmax"))
    permute("attention/mix", mixed)
    blob = close("attention/output", linear("attention/output", mixed, hidden), blob)
    wide = net.add(prefix + "/feed_forward/gelu", "GELU", linear("feed_forward/in", blob, inner))
    return close("feed_forward/out", linear("feed_forward/out", wide, hidden), blob)


def bert(size, layers, hidden, heads, task, parameters):
    """Devlin et al. 2019; with the head of SQuAD 1.1 or of pre-training."""
    squad = task == "squad"
    net = Net(name=f"bert-{size}-squad" if squad else f"bert-{size}",
              source=f"Devlin et al., NAACL 2019 (arXiv:1810.04805), section 3: {layers} layers, hidden "
                     f"size {hidden}, {heads} heads, feed-forward {4 * hidden}; vocabulary of "
                     "bert-" + size + "-uncased" + (", sequences of 384 (section 5.2)" if squad else
                                                    ", sequences of 512 (appendix A.2)"),
              input_shape=[384 if squad else 512],
              published={"parameters": parameters, "source": "Hugging Face transformers "
                         + ("BertForQuestionAnswering" if squad else "BertForPreTraining")
                         + f", bert-{size}-uncased: trainable values"},
              note="Each step of attention is a kernel of its own, as in the code of 2019 to 2022: "
                   "products, scale, mask, softmax, dropout; heads are made contiguous."
                   + ("" if squad else " 5 of 32 words are masked: 80 of 512, 20 of 128."))
    words = net.add("embeddings/word", "Embedding", "data", num_output=hidden, vocabulary=30522)
    places = net.add("embeddings/position", "Embedding", "data", num_output=hidden, vocabulary=512)
    kinds = net.add("embeddings/segment", "Embedding", "data", num_output=hidden, vocabulary=2)
    blob = net.add("embeddings/sum", "Eltwise", [words, places, kinds], words)
    blob = net.add("embeddings/norm", "LayerNorm", blob)
    net.add("embeddings/dropout", "Dropout", blob, blob)
    for i in range(layers):
        blob = encoder_layer(net, f"layer{i + 1}", blob, hidden, heads, 4 * hidden)
    if squad:
        ends = net.add("ends", "Linear", blob, num_output=2)
        net.add("loss", "SoftmaxWithLoss", [ends, "label"])
        return net
    first = net.add("pooler/first", "Gather", blob, count=1)
    pooled = net.add("pooler/linear", "Linear", first, num_output=hidden)
    net.add("pooler/tanh", "TanH", pooled, pooled)
    follows = net.add("next_sentence", "Linear", pooled, num_output=2)
    net.add("next_sentence/loss", "SoftmaxWithLoss", [follows, "label"])
    masked = net.add("masked/gather", "Gather", blob, keeps=5, of=32)
    masked = net.add("masked/linear", "Linear", masked, num_output=hidden)
    masked = net.add("masked/norm", "LayerNorm", net.add("masked/gelu", "GELU", masked))
    scores = net.add("masked/scores", "Linear", masked, num_output=30522, tied=True)
    net.add("masked/loss", "SoftmaxWithLoss", [scores, "label"])
    return net


def vit(size, patch, layers, hidden, heads, parameters):
    """Dosovitskiy et al., ICLR 2021, Table 1; normalised before each part, packed projections."""
    side = 224 // patch
    tokens = side * side + 1
    net = Net(name=f"vit-{size}-{patch}",
              source=f"Dosovitskiy et al., ICLR 2021 (arXiv:2010.11929), Table 1: {layers} layers, hidden "
                     f"size {hidden}, {heads} heads, feed-forward {4 * hidden}, patches of "
                     f"{patch}x{patch}, 224x224; as torchvision vit_{size}_{patch}",
              input_shape=[3, 224, 224],
              published={"parameters": parameters,
                         "source": f"torchvision vit_{size}_{patch}: num_params"},
              note="Each step of attention is a kernel of its own.")
    blob = net.conv("patches", "data", hidden, patch, patch, bias=True)
    blob = net.add("patches/rows", "Reshape", blob, num_output=hidden, rows=tokens - 1)
    net.add("patches/permute", "Permute", blob, blob)
    first = net.add("class_token", "Learned", [], num_output=hidden, count=1)
    places = net.add("places", "Learned", [], num_output=hidden, count=tokens)
    blob = net.sum("places/sum", net.add("tokens", "Concat", [first, blob]), places)
    for i in range(layers):
        n = f"layer{i + 1}"
        inner = net.add(n + "/norm1", "LayerNorm", blob)
        packed = net.add(n + "/attention/in", "Linear", inner, num_output=3 * hidden)
        mixed = scored_attention(net, n + "/attention", packed, packed, heads, ("Scale", "Softmax"),
                                 dropout=False)
        net.add(n + "/attention/permute", "Permute", mixed, mixed)
        inner = net.add(n + "/attention/out", "Linear", mixed, num_output=hidden)
        blob = net.sum(n + "/sum1", inner, blob)
        inner = net.add(n + "/in", "Linear", net.add(n + "/norm2", "LayerNorm", blob),
                        num_output=4 * hidden)
        inner = net.add(n + "/out", "Linear", net.add(n + "/gelu", "GELU", inner), num_output=hidden)
        blob = net.sum(n + "/sum2", inner, blob)
    blob = net.add("first", "Gather", net.add("norm", "LayerNorm", blob), count=1)
    scores = net.add("head", "Linear", blob, num_output=1000)
    net.add("loss", "SoftmaxWithLoss", [scores, "label"])
    return net


def transformer_big():
    """Vaswani et al., NIPS 2017, Table 3 "big", normalised before each part."""
    hidden, heads, words = 1024, 16, 33712
    net = Net(name="transformer-big",
              source="Vaswani et al., NIPS 2017 (arXiv:1706.03762), Table 3, big: 6 + 6 layers, hidden "
                     f"size 1024, 16 heads, feed-forward 4096; as {DLE} 1182059, "
                     "PyTorch/Translation/Transformer/fairseq/models/transformer.py has it for WMT14 "
                     "English to German",
              input_shape=[32],
              note="One sample is a sentence and its translation, of as many words. 33,712 words in one "
                   "table for both languages and for the output; places are computed. 32 words stand "
                   "for WMT14's sentences, which are 25 to 30 long in the mean.")

    def attention(prefix, blob, memory, steps):
        names = ("query", "key", "value")
        query, key, value = (net.add(f"{prefix}/{name}", "Linear", blob if name == "query" else memory,
                                     num_output=hidden, bias_term=False) for name in names)
        mixed = scored_attention(net, prefix, [query, key], value, heads, steps)
        net.add(prefix + "/permute", "Permute", mixed, mixed)
        return net.add(prefix + "/out", "Linear", mixed, num_output=hidden, bias_term=False)

    def residual(prefix, blob, part):
        inner = part(net.add(prefix + "/norm", "LayerNorm", blob))
        net.add(prefix + "/dropout", "Dropout", inner, inner)
        return net.sum(prefix + "/sum", inner, blob)

    def feed_forward(prefix, blob):
        inner = net.add(prefix + "/in", "Linear", blob, num_output=4 * hidden)
        net.relu(prefix + "/relu", inner)
        net.add(prefix + "/relu/dropout", "Dropout", inner, inner)
        return net.add(prefix + "/out", "Linear", inner, num_output=hidden)

    def embedding(name, tied):
        blob = net.add(name + "/words", "Embedding", "data", num_output=hidden, vocabulary=words,
                       tied=tied or None)
        places = net.add(name + "/places", "Embedding", "data", num_output=hidden, vocabulary=1024,
                         tied=True)
        blob = net.sum(name + "/sum", blob, places)
        return net.add(name + "/dropout", "Dropout", blob, blob)

    blob = embedding("source", False)
    for i in range(6):
        n = f"encoder{i + 1}"
        blob = residual(n + "/attention", blob,
                        lambda x, n=n: attention(n + "/attention", x, x, ("Softmax",)))
        blob = residual(n + "/feed_forward", blob, lambda x, n=n: feed_forward(n + "/feed_forward", x))
    memory = net.add("encoder/norm", "LayerNorm", blob)
    blob = embedding("target", True)
    for i in range(6):
        n = f"decoder{i + 1}"
        blob = residual(n + "/attention", blob,
                        lambda x, n=n: attention(n + "/attention", x, x, ("Mask", "Softmax")))
        blob = residual(n + "/memory", blob,
                        lambda x, n=n: attention(n + "/memory", x, memory, ("Softmax",)))
        blob = residual(n + "/feed_forward", blob, lambda x, n=n: feed_forward(n + "/feed_forward", x))
    blob = net.add("decoder/norm", "LayerNorm", blob)
    scores = net.add("scores", "Linear", blob, num_output=words, bias_term=False, tied=True)
    net.add("loss", "SoftmaxWithLoss", [scores, "label"])
    return net


def gnmt():
    """Wu et al. 2016, as NVIDIA's GNMT v2: four layers each way, attention from the first."""
    hidden, words, length = 1024, 32320, 28
    net = Net(name="gnmt",
              source=f"Wu et al. 2016 (arXiv:1609.08144), as {DLE} 5d2914e, "
                     "PyTorch/Translation/GNMT/seq2seq/models has it (GNMT v2): 4 + 4 layers of 1024, the "
                     "first of the encoder in both directions",
              input_shape=[length],
              note="One sample is a sentence and its translation, of as many words: 28 stand for WMT16's "
                   "of at most 50. 32,320 words in one table, and another for the output.")

    def lstm(name, blob):
        gates = net.add(name + "/in", "Linear", blob, num_output=4 * hidden)
        return net.add(name + "/cell", "LSTMCell", net.add(name, "LSTM", gates, gates))

    def side_by_side(name, *blobs):
        return net.add(name, "Concat", list(blobs), values=True)

    def residual(name, blob, *beside):
        inner = net.add(name + "/dropout", "Dropout", blob)
        inner = side_by_side(name + "/concat", inner, *beside) if beside else inner
        return net.sum(name + "/sum", lstm(name, inner), blob)

    def words_of(name, tied):
        return net.add(name, "Embedding", "data", num_output=hidden, vocabulary=words, tied=tied)

    blob = words_of("source", None)
    net.add("source/dropout", "Dropout", blob, blob)
    blob = side_by_side("encoder1", lstm("encoder1/forth", blob), lstm("encoder1/back", blob))
    net.add("encoder1/dropout", "Dropout", blob, blob)
    blob = lstm("encoder2", blob)
    for i in (3, 4):
        blob = residual(f"encoder{i}", blob)
    memory, blob = blob, lstm("decoder1", words_of("target", True))

    query = net.add("attention/query", "Linear", blob, num_output=hidden, bias_term=False)
    key = net.add("attention/key", "Linear", memory, num_output=hidden, bias_term=False)
    pairs = net.add("attention/pairs", "Pairs", [query, key])
    net.add("attention/bias", "Bias", pairs, pairs)
    net.add("attention/tanh", "TanH", pairs, pairs)
    scores = net.add("attention/scores", "Linear", pairs, num_output=1, bias_term=False)
    scores = net.add("attention/rows", "Reshape", scores, num_output=length, rows=length, channels=1)
    for step in ("Mask", "Softmax"):
        scores = net.add("attention/" + step.lower(), "Attention" + step, scores)
    context = net.add("attention/mix", "AttentionMix", [scores, memory])

    net.add("decoder1/dropout", "Dropout", blob, blob)
    blob = lstm("decoder2", side_by_side("decoder2/concat", blob, context))
    for i in (3, 4):
        blob = residual(f"decoder{i}", blob, context)
    scores = net.add("scores", "Linear", blob, num_output=words)
    net.add("loss", "SoftmaxWithLoss", [scores, "label"])
    return net


def resnet(layers, units, parameters):
    """Bottleneck ResNet of He et al. 2015, Table 1; the stride is in the first 1x1 convolution."""
    net = Net(
        name=f"resnet-{layers}",
        source=f"He et al., CVPR 2016 (arXiv:1512.03385), Table 1, {layers} layers, 224x224",
        input_shape=[3, 224, 224],
        published={"parameters": parameters,
                   "source": f"torchvision resnet{layers}: trainable values, without the running "
                             "means and variances"},
        note="Convolutions without bias, each with a BatchNorm of learned scale and shift; "
             "projection shortcuts where the shape changes. Version 1: the stride is in the first "
             "1x1 convolution of a block (version 1.5 has it in the 3x3: same parameters, 6 % more "
             "FLOP).")
    blob = net.conv_norm_relu("conv1", "data", 64, 7, 2, 3)
    blob = net.pool("pool1", blob, "MAX", 3, 2, 1, "FLOOR")
    for stage, count in enumerate(units):
        width = 64 * 2**stage
        for unit in range(count):
            name = f"res{stage + 2}_{unit + 1}"
            stride = 2 if stage > 0 and unit == 0 else 1
            shortcut = blob
            if unit == 0:
                shortcut = net.norm(name + "/shortcut/bn",
                                    net.conv(name + "/shortcut", blob, 4 * width, 1, stride))
            inner = net.conv_norm_relu(name + "/1x1_reduce", blob, width, 1, stride)
            inner = net.conv_norm_relu(name + "/3x3", inner, width, 3, 1, 1)
            inner = net.norm(name + "/1x1/bn", net.conv(name + "/1x1", inner, 4 * width, 1))
            blob = net.relu(name + "/relu", net.sum(name + "/sum", inner, shortcut))
    net.classify(net.global_pool("pool5", blob), 1000)
    return net


def resnet_cifar():
    """MXNet's example/image-classification/symbols/resnet.py for num_layers = 50, height <= 28."""
    net = Net(
        name="resnet-50-cifar10",
        source="He et al. 2016 (arXiv:1603.05027) as MXNet's example/image-classification/symbols/"
               "resnet.py builds it for --num-layers 50 and an image of 28x28",
        input_shape=[3, 28, 28],
        note="The MXNet-MPI paper (Mamidala, section 5) says 'Resnet-50 for CIFAR' and no more. "
             "Rule: the network that its framework's own example gives for 50 layers on CIFAR-10 "
             "(train_cifar10.py crops to 28x28): (50 - 2) / 6 = 8 basic units in each of 3 stages "
             "with 16, 32 and 64 filters, pre-activation; not the 25.6 M parameter ResNet-50. No "
             "total is published. The scale of bn_data is fixed at 1 there and still has a key.")
    blob = net.norm("bn_data", "data", in_place=False)
    blob = net.conv("conv0", blob, 16, 3, 1, 1)
    for stage, filters in enumerate((16, 32, 64)):
        for unit in range(8):
            name = f"stage{stage + 1}_unit{unit + 1}"
            stride = 2 if stage > 0 and unit == 0 else 1
            act = net.relu(name + "/relu1", net.norm(name + "/bn1", blob, in_place=False))
            shortcut = net.conv(name + "/sc", act, filters, 1, stride) if unit == 0 else blob
            inner = net.conv_norm_relu(name + "/conv1", act, filters, 3, stride, 1)
            blob = net.sum(name + "/sum", net.conv(name + "/conv2", inner, filters, 3, 1, 1),
                           shortcut)
    net.norm("bn1", blob)
    net.classify(net.global_pool("pool1", net.relu("relu1", blob)), 10, "fc1")
    return net


def inception_v3():
    """Szegedy et al. 2015 as torchvision builds it: BatchNorm with scale, auxiliary head."""
    net = Net(
        name="inception-v3",
        source="Szegedy et al., CVPR 2016 (arXiv:1512.00567), Table 1, with the auxiliary "
               "classifier, 299x299",
        input_shape=[3, 299, 299],
        published={"parameters": 27161264, "parameters_without_auxiliary": 23834568,
                   "source": "torchvision inception_v3: trainable values with and without "
                             "AuxLogits"},
        note="TensorFlow's benchmark and Keras leave out the scale of BatchNorm: 23,817,352 "
             "without the auxiliary head.")
    c = net.conv_norm_relu
    blob = c("conv1", "data", 32, 3, 2)
    blob = c("conv2", blob, 32, 3)
    blob = c("conv3", blob, 64, 3, 1, 1)
    blob = net.pool("pool1", blob, "MAX", 3, 2)
    blob = c("conv4", blob, 80, 1)
    blob = c("conv5", blob, 192, 3)
    blob = net.pool("pool2", blob, "MAX", 3, 2)
    for name, projection in (("5b", 32), ("5c", 64), ("5d", 64)):
        n = "mixed_" + name
        five = c(n + "/5x5", c(n + "/5x5_reduce", blob, 48, 1), 64, 5, 1, 2)
        double = c(n + "/d3x3_1", c(n + "/d3x3_reduce", blob, 64, 1), 96, 3, 1, 1)
        double = c(n + "/d3x3_2", double, 96, 3, 1, 1)
        pooled = c(n + "/proj", net.pool(n + "/pool", blob, "AVE", 3, 1, 1), projection, 1)
        blob = net.add(n, "Concat", [c(n + "/1x1", blob, 64, 1), five, double, pooled])
    n = "mixed_6a"
    double = c(n + "/d3x3_1", c(n + "/d3x3_reduce", blob, 64, 1), 96, 3, 1, 1)
    double = c(n + "/d3x3_2", double, 96, 3, 2)
    blob = net.add(n, "Concat", [c(n + "/3x3", blob, 384, 3, 2), double,
                                 net.pool(n + "/pool", blob, "MAX", 3, 2)])
    for name, width in (("6b", 128), ("6c", 160), ("6d", 160), ("6e", 192)):
        n = "mixed_" + name
        seven = c(n + "/7x7_reduce", blob, width, 1)
        seven = c(n + "/7x7_1", seven, width, [1, 7], 1, [0, 3])
        seven = c(n + "/7x7_2", seven, 192, [7, 1], 1, [3, 0])
        double = c(n + "/d7x7_reduce", blob, width, 1)
        for i, (filters, tall) in enumerate(((width, 1), (width, 0), (width, 1), (192, 0))):
            double = c(f"{n}/d7x7_{i + 1}", double, filters, [7, 1] if tall else [1, 7], 1,
                       [3, 0] if tall else [0, 3])
        pooled = c(n + "/proj", net.pool(n + "/pool", blob, "AVE", 3, 1, 1), 192, 1)
        blob = net.add(n, "Concat", [c(n + "/1x1", blob, 192, 1), seven, double, pooled])
    net.auxiliary = True
    aux = c("aux/proj", net.pool("aux/pool", blob, "AVE", 5, 3, 0, "FLOOR"), 128, 1)
    net.classify(c("aux/conv", aux, 768, 5), 1000, "aux/fc", "aux/loss")
    net.auxiliary = False
    n = "mixed_7a"
    three = c(n + "/3x3", c(n + "/3x3_reduce", blob, 192, 1), 320, 3, 2)
    seven = c(n + "/7x7_reduce", blob, 192, 1)
    seven = c(n + "/7x7_1", seven, 192, [1, 7], 1, [0, 3])
    seven = c(n + "/7x7_2", seven, 192, [7, 1], 1, [3, 0])
    seven = c(n + "/7x7_3", seven, 192, 3, 2)
    blob = net.add(n, "Concat", [three, seven, net.pool(n + "/pool", blob, "MAX", 3, 2)])
    for n in ("mixed_7b", "mixed_7c"):
        three = c(n + "/3x3_reduce", blob, 384, 1)
        double = c(n + "/d3x3_1", c(n + "/d3x3_reduce", blob, 448, 1), 384, 3, 1, 1)
        pooled = c(n + "/proj", net.pool(n + "/pool", blob, "AVE", 3, 1, 1), 192, 1)
        blob = net.add(n, "Concat", [
            c(n + "/1x1", blob, 320, 1),
            c(n + "/3x3_a", three, 384, [1, 3], 1, [0, 1]),
            c(n + "/3x3_b", three, 384, [3, 1], 1, [1, 0]),
            c(n + "/d3x3_2a", double, 384, [1, 3], 1, [0, 1]),
            c(n + "/d3x3_2b", double, 384, [3, 1], 1, [1, 0]), pooled])
    blob = net.global_pool("pool3", blob)
    net.add("dropout", "Dropout", blob, blob)
    net.classify(blob, 1000)
    return net


def inception_bn():
    """Ioffe & Szegedy 2015 as MXNet's symbols/inception-bn.py builds it."""
    net = Net(
        name="inception-bn",
        source="Ioffe, Szegedy, ICML 2015 (arXiv:1502.03167), Fig. 5, as MXNet's "
               "example/image-classification/symbols/inception-bn.py trains it",
        input_shape=[3, 224, 224],
        published={"parameters": 11295240,
                   "source": "Cadene pretrained-models.pytorch bninception: weights and biases, "
                             "scale and shift"},
        note="MXNet's convolutions keep their bias although a BatchNorm follows.")

    def c(name, bottom, filters, kernel, stride=1, pad=0):
        return net.conv_norm_relu(name, bottom, filters, kernel, stride, pad, bias=True)

    def block(n, blob, one, three_reduce, three, double_reduce, double, kind, projection):
        stride = 1 if one else 2
        parts = [c(n + "/1x1", blob, one, 1)] if one else []
        inner = c(n + "/3x3_reduce", blob, three_reduce, 1)
        parts.append(c(n + "/3x3", inner, three, 3, stride, 1))
        deep = c(n + "/d3x3_1", c(n + "/d3x3_reduce", blob, double_reduce, 1), double, 3, 1, 1)
        parts.append(c(n + "/d3x3_2", deep, double, 3, stride, 1))
        pooled = net.pool(n + "/pool", blob, kind, 3, stride, 1, "FLOOR")
        parts.append(c(n + "/proj", pooled, projection, 1) if projection else pooled)
        return net.add(n, "Concat", parts)

    blob = net.pool("pool1", c("conv1", "data", 64, 7, 2, 3), "MAX", 3, 2)
    blob = c("conv2", c("conv2_reduce", blob, 64, 1), 192, 3, 1, 1)
    blob = net.pool("pool2", blob, "MAX", 3, 2)
    for row in (("3a", 64, 64, 64, 64, 96, "AVE", 32), ("3b", 64, 64, 96, 64, 96, "AVE", 64),
                ("3c", 0, 128, 160, 64, 96, "MAX", 0),
                ("4a", 224, 64, 96, 96, 128, "AVE", 128), ("4b", 192, 96, 128, 96, 128, "AVE", 128),
                ("4c", 160, 128, 160, 128, 160, "AVE", 128),
                ("4d", 96, 128, 192, 160, 192, "AVE", 128), ("4e", 0, 128, 192, 192, 256, "MAX", 0),
                ("5a", 352, 192, 320, 160, 224, "AVE", 128),
                ("5b", 352, 192, 320, 192, 224, "MAX", 128)):
        blob = block("inception_" + row[0], blob, *row[1:])
    net.classify(net.global_pool("global_pool", blob), 1000)
    return net


def mobilenet_v1():
    """Howard et al. 2017, Table 1."""
    net = Net(
        name="mobilenet-v1",
        source="Howard et al. 2017 (arXiv:1704.04861), Table 1, width 1.0, 224x224",
        input_shape=[3, 224, 224],
        published={"parameters": 4231976,
                   "source": "Keras Applications MobileNet: 4,253,864 values, of which 21,888 are "
                             "moving means and variances; the paper prints 4.2 M"},
        note="Depthwise convolutions have as many groups as channels.")
    blob = net.conv_norm_relu("conv1", "data", 32, 3, 2, 1)
    channels = 32
    plan = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1),
            (512, 1), (512, 1), (1024, 2), (1024, 1))
    for i, (filters, stride) in enumerate(plan):
        n = f"conv{i + 2}"
        blob = net.conv_norm_relu(n + "/dw", blob, channels, 3, stride, 1, group=channels)
        blob = net.conv_norm_relu(n + "/pw", blob, filters, 1)
        channels = filters
    net.classify(net.global_pool("pool", blob), 1000)
    return net


def mobilenet_v2():
    """Sandler et al. 2018, Table 2."""
    net = Net(
        name="mobilenet-v2",
        source="Sandler et al., CVPR 2018 (arXiv:1801.04381), Table 2, width 1.0, 224x224",
        input_shape=[3, 224, 224],
        published={"parameters": 3504872, "source": "torchvision mobilenet_v2: trainable values"},
        note="What TensorFlow's tf_cnn_benchmarks trains under the name mobilenet "
             "(models/model_config.py: mobilenet_v2.MobilenetModel). ReLU6 is counted as ReLU.")
    blob = net.conv_norm_relu("conv1", "data", 32, 3, 2, 1)
    channels = 32
    number = 0
    for expansion, filters, count, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2),
                                                    (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                                    (6, 320, 1, 1)):
        for unit in range(count):
            number += 1
            n = f"block{number}"
            stride = first_stride if unit == 0 else 1
            inner = blob
            width = channels * expansion
            if expansion > 1:
                inner = net.conv_norm_relu(n + "/expand", inner, width, 1)
            inner = net.conv_norm_relu(n + "/dw", inner, width, 3, stride, 1, group=width)
            inner = net.norm(n + "/project/bn", net.conv(n + "/project", inner, filters, 1))
            same = stride == 1 and filters == channels
            blob = net.sum(n + "/sum", inner, blob) if same else inner
            channels = filters
    blob = net.conv_norm_relu("conv_last", blob, 1280, 1)
    net.classify(net.global_pool("pool", blob), 1000)
    return net


def alexnet_22k():
    """The AlexNet-like network that Poseidon trains on ImageNet 22K."""
    net = Net(
        name="alexnet-22k",
        source="Poseidon (Zhang et al. 2015), section 5.1.3: 5 convolutions, 2 FC layers of 3,000, "
               "21,841 classes; what it does not print is AlexNet's (Krizhevsky et al. 2012)",
        input_shape=[3, 227, 227],
        note="The paper prints 120 M parameters and 1.8 G connections; its filter sizes are lost in "
             "the text at hand. Rule: AlexNet's filters, strides and poolings, without groups, the "
             "stated FC layers: 106.0 M parameters (12 % fewer) and 1.18 G multiply-adds (34 % "
             "fewer). The FC layers at the top hold 74.5 M of them whatever the convolutions are; "
             "the rest of the difference would be a larger last pooling: 7x7x256 instead of "
             "6x6x256 gives 116 M.")
    blob = "data"
    for i, (filters, kernel, stride, pad) in enumerate(((96, 11, 4, 0), (256, 5, 1, 2),
                                                        (384, 3, 1, 1), (384, 3, 1, 1),
                                                        (256, 3, 1, 1)), 1):
        blob = net.relu(f"relu{i}", net.conv(f"conv{i}", blob, filters, kernel, stride, pad, True))
        if i < 3:
            blob = net.add(f"norm{i}", "LRN", blob)
        if i in (1, 2, 5):
            blob = net.pool(f"pool{i}", blob, "MAX", 3, 2)
    for name in ("fc6", "fc7"):
        blob = net.relu("relu" + name[2:], net.add(name, "InnerProduct", blob, num_output=3000))
        net.add("drop" + name[2:], "Dropout", blob, blob)
    net.classify(blob, 21841, "fc8")
    return net


class Nasnet(Net):
    """NASNet-A cells (Zoph et al. 2018, Fig. 4), as Keras Applications and TF-Slim build them."""

    def separable(self, n, bottom, channels, filters, kernel, stride=1):
        """Two times ReLU, depthwise and pointwise convolution, BatchNorm."""
        blob = bottom
        for i in (1, 2):
            blob = self.relu(f"{n}/relu{i}", blob, in_place=i == 2)
            blob = self.conv(f"{n}/dw{i}", blob, channels, kernel, stride if i == 1 else 1,
                             kernel // 2, group=channels)
            blob = self.norm(f"{n}/bn{i}", self.conv(f"{n}/pw{i}", blob, filters, 1))
            channels = filters
        return blob

    def squeeze(self, n, bottom, filters):
        return self.norm(n + "/bn",
                         self.conv(n, self.relu(n + "/relu", bottom, in_place=False), filters, 1))

    def adjust(self, n, previous, side, filters):
        """The cell before last in this cell's size and channels."""
        blob, channels, previous_side = previous
        if previous_side != side:
            blob = self.relu(n + "/adjust/relu", blob, in_place=False)
            halves = []
            for i in (1, 2):
                half = self.pool(f"{n}/adjust/pool{i}", blob, "AVE", 1, 2, 0, "FLOOR")
                halves.append(self.conv(f"{n}/adjust/conv{i}", half, filters // 2, 1))
            return self.norm(n + "/adjust/bn",
                             self.add(n + "/adjust/concat", "Concat", halves)), filters
        if channels != filters:
            return self.squeeze(n + "/adjust", blob, filters), filters
        return blob, channels

    def normal(self, n, current, previous, filters):
        blob, _, side = current
        p, p_channels = self.adjust(n, previous, side, filters)
        h = self.squeeze(n + "/conv", blob, filters)

        def sep(name, source, kernel):
            return self.separable(n + name, source, p_channels if source == p else filters, filters,
                                  kernel)

        x1 = self.sum(n + "/add1", sep("/left1", h, 5), sep("/right1", p, 3))
        x2 = self.sum(n + "/add2", sep("/left2", p, 5), sep("/right2", p, 3))
        x3 = self.sum(n + "/add3", self.pool(n + "/left3", h, "AVE", 3, 1, 1), p)
        x4 = self.sum(n + "/add4", self.pool(n + "/left4", p, "AVE", 3, 1, 1),
                      self.pool(n + "/right4", p, "AVE", 3, 1, 1))
        x5 = self.sum(n + "/add5", sep("/left5", h, 3), h)
        return self.add(n, "Concat", [p, x1, x2, x3, x4, x5]), 6 * filters, side

    def reduction(self, n, current, previous, filters):
        blob, channels, side = current
        if previous is None:
            p, p_channels = blob, channels
        else:
            p, p_channels = self.adjust(n, previous, side, filters)
        h = self.squeeze(n + "/conv", blob, filters)

        def pooled(name, kind):
            return self.pool(n + name, h, kind, 3, 2, 1, "FLOOR")

        x1 = self.sum(n + "/add1", self.separable(n + "/left1", h, filters, filters, 5, 2),
                      self.separable(n + "/right1", p, p_channels, filters, 7, 2))
        x2 = self.sum(n + "/add2", self.separable(n + "/right2", p, p_channels, filters, 7, 2),
                      pooled("/left2", "MAX"))
        x3 = self.sum(n + "/add3", self.separable(n + "/right3", p, p_channels, filters, 5, 2),
                      pooled("/left3", "AVE"))
        x4 = self.sum(n + "/add4", self.pool(n + "/left4", x1, "AVE", 3, 1, 1), x2)
        x5 = self.sum(n + "/add5", self.separable(n + "/left5", x1, filters, filters, 3),
                      pooled("/right5", "MAX"))
        return self.add(n, "Concat", [x2, x3, x4, x5]), 4 * filters, (side + 1) // 2


def nasnet_large():
    net = Nasnet(
        name="nasnet-large",
        source="Zoph et al., CVPR 2018 (arXiv:1707.07012), NASNet-A (6 @ 4032), 331x331",
        input_shape=[3, 331, 331],
        published={"parameters": 93320934, "parameters_without_auxiliary": 88753150,
                   "source": "Keras Applications NASNetLarge: 88,949,818 values, of which 196,668 "
                             "are moving means and variances; with TF-Slim's auxiliary head "
                             "(2016 x 128 + 6 x 6 x 128 x 768 + 768 x 1000 + 1000 and two "
                             "BatchNorms), which tf_cnn_benchmarks trains"},
        note="Drop-path is left out. A separable convolution is a depthwise one (as many groups as "
             "channels) and a 1x1. The zero padding of 'same' convolutions is symmetric here: the "
             "same sizes and counts.")
    base = 4032 // 24
    blob = net.norm("stem/bn", net.conv("stem/conv", "data", 96, 3, 2))
    stem = (blob, 96, 165)
    first = net.reduction("stem_1", stem, None, base // 4)
    second = net.reduction("stem_2", first, stem, base // 2)
    current, previous = second, first
    for stage in range(3):
        filters = base * 2**stage
        if stage > 0:  # the cell after a reduction reads what came before the reduction's input
            current = net.reduction(f"reduce_{6 * stage}", current, previous, filters)
        for i in range(6):
            cell = net.normal(f"cell_{6 * stage + i}", current, previous, filters)
            current, previous = cell, current
        if stage == 1:
            net.auxiliary = True
            aux = net.relu("aux/relu", current[0], in_place=False)
            aux = net.pool("aux/pool", aux, "AVE", 5, 3, 0, "FLOOR")
            aux = net.conv_norm_relu("aux/proj", aux, 128, 1)
            aux = net.conv_norm_relu("aux/conv", aux, 768, 6)
            net.classify(aux, 1000, "aux/fc", "aux/loss")
            net.auxiliary = False
    blob = net.global_pool("pool", net.relu("relu", current[0], in_place=False))
    net.add("dropout", "Dropout", blob, blob)
    net.classify(blob, 1000)
    return net


def resnets_v15():
    yield resnet_v15(
        "resnet-50-v1.5",
        "He et al., CVPR 2016 (arXiv:1512.03385), Table 1, 50 layers, 224x224; stride as in "
        "torchvision and NVIDIA's DeepLearningExamples (ResNet-50 v1.5)",
        {"parameters": 25557032, "source": "torchvision resnet50: trainable values"}, (3, 4, 6, 3))
    resnext = ("Xie et al., CVPR 2017 (arXiv:1611.05431), Table 1 and section 5.1, 101 layers, "
               "cardinality 32, bottleneck width 4, 224x224")
    yield resnet_v15(
        "resnext-101-32x4d", resnext,
        {"parameters": 44177704, "source": "timm resnext101_32x4d: trainable values"},
        (3, 4, 23, 3), 32, 128)
    yield resnet_v15(
        "se-resnext-101-32x4d", resnext + "; Hu et al., CVPR 2018 (arXiv:1709.01507), reduction 16",
        {"parameters": 48955416, "source": "timm seresnext101_32x4d: trainable values"},
        (3, 4, 23, 3), 32, 128, excite=True)


def main():
    for net in (resnet(50, (3, 4, 6, 3), 25557032), resnet(152, (3, 8, 36, 3), 60192808),
                resnet_cifar(), inception_v3(), inception_bn(), mobilenet_v1(), mobilenet_v2(),
                nasnet_large(), alexnet_22k(), *resnets_v15(), ssd300(), mask_rcnn_backbone(),
                *retinanets(), unet_medical(), nn_unet_2d(), transformer_big(), gnmt(),
                vit("b", 16, 12, 768, 12, 86567656), vit("l", 16, 24, 1024, 16, 304326632),
                efficientnet("b0", 1.0, 1.0, 224, 5288548),
                efficientnet("b4", 1.4, 1.8, 380, 19341616),
                bert("base", 12, 768, 12, "squad", 108893186),
                bert("large", 24, 1024, 16, "squad", 334094338),
                bert("base", 12, 768, 12, "pre-training", 110106428),
                bert("large", 24, 1024, 16, "pre-training", 336226108)):
        net.write()


if __name__ == "__main__":
    main()
