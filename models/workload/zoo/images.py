"""Networks that classify images."""

import math

from net import Net


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
