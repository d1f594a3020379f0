"""Networks of sequences: of words, or of an image's patches."""

from net import DLE, Net


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
