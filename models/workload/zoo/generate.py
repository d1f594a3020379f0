#!/usr/bin/env python3
"""Writes the zoo's regular networks: python3 models/workload/zoo/generate.py

Each function of images.py, detectors.py, sequences.py and recommenders.py is one network, built from
its publication's blocks. The JSON files are what the program reads; tests compare their totals with the published ones.
BatchNorm and ReLU work in place where nothing else reads their input, and a residual sum is written
into its first operand, as frameworks that plan their memory do.
"""

from detectors import mask_rcnn_backbone, nn_unet_2d, retinanets, ssd300, unet_medical
from images import (alexnet_22k, efficientnet, inception_bn, inception_v3, mobilenet_v1, mobilenet_v2,
                    nasnet_large, resnet, resnet_cifar, resnets_v15)
from recommenders import dlrm
from sequences import bert, gnmt, transformer_big, vit


def main():
    for net in (resnet(50, (3, 4, 6, 3), 25557032), resnet(152, (3, 8, 36, 3), 60192808),
                resnet_cifar(), inception_v3(), inception_bn(), mobilenet_v1(), mobilenet_v2(),
                nasnet_large(), alexnet_22k(), *resnets_v15(), ssd300(), mask_rcnn_backbone(),
                *retinanets(), unet_medical(), nn_unet_2d(), transformer_big(), gnmt(), dlrm(),
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
