"""Networks that find objects in images, or say of each pixel what it belongs to."""

from images import bottlenecks
from net import DLE, FrozenNet, Net


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


def mask_rcnn_backbone():
    """He et al., ICCV 2017: ResNet-50, its pyramid and the heads that propose regions."""
    net = FrozenNet(
        name="mask-r-cnn-backbone",
        source="He et al., ICCV 2017 (arXiv:1703.06870); Lin et al., CVPR 2017 (arXiv:1612.03144); "
               "as torchvision's maskrcnn_resnet50_fpn, 800x1344",
        input_shape=[3, 800, 1344],
        published={"parameters": 27393231, "source": "torchvision maskrcnn_resnet50_fpn: trainable "
                   "values of backbone (26,799,296) and rpn (593,935) with all layers trained"},
        note="What comes after the proposals is left out: choosing them, aligned pooling, box and mask "
             "heads. Images of 800x1344, the largest that training pads to.")
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
    net = FrozenNet(name=name, source="Lin et al., ICCV 2017 (arXiv:1708.02002), as " + source,
                    input_shape=shape, **published,
                    note=note + "Matching boxes to their truth is left out.")
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
