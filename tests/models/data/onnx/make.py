#!/usr/bin/python3
"""Writes the samples here: python3 tests/models/data/onnx/make.py [NAME...] (Debian's python3-torch, 1.13).

Networks as PyTorch exports them, with no weights: data of more than 64 values are taken out of the
files, which keep their shapes. What is exported is as torchvision and Hugging Face build it, written
here as neither is in Debian.
"""
import io
import math
import pathlib
import sys

import torch
from torch import nn
from torch.onnx import TrainingMode

FOLDER = pathlib.Path(__file__).resolve().parent
DATA_BYTES_MAX = 512
SHORT = {}  # names of tensors in files without names of nodes


# Protocol buffers' wire format, as far as taking fields out needs it.
def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def of_varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            length = 8 if kind == 1 else 4
            value, at = data[at:at + length], at + length
        yield tag >> 3, kind, value


def field(number, kind, value):
    head = of_varint(number << 3 | kind)
    if kind == 0:
        return head + of_varint(value)
    return head + (of_varint(len(value)) if kind == 2 else b"") + value


def stripped(data, message="model", names=True):
    out = b""
    for number, kind, value in fields(data):
        if message == "model" and number == 7:
            value = stripped(value, "graph", names)
        elif message == "graph" and number == 5:
            value = stripped(value, "tensor")
        elif message == "graph" and number == 13:
            continue  # shapes of what is inside, which readers work out
        elif message == "graph" and number == 1:
            value = stripped(value, "node", names)
        elif message == "node" and (number == 6 or (number == 3 and not names)):
            continue  # where in the sources, and what it is called
        elif message == "node" and number in (1, 2) and not names and value.startswith(b"/"):
            value = b"t%d" % SHORT.setdefault(value, len(SHORT))
        elif message == "tensor" and number == 9 and len(value) > DATA_BYTES_MAX:
            continue
        out += field(number, kind, value)
    return out


def write(name, model, inputs, opset=13, training=False, node_names=True, **options):
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    model.train(training)
    file = io.BytesIO()
    mode = TrainingMode.TRAINING if training else TrainingMode.EVAL
    torch.onnx.export(model, inputs, file, opset_version=opset, training=mode,
                      do_constant_folding=not training, **options)
    data = stripped(file.getvalue(), names=node_names)
    (FOLDER / name).write_bytes(data)
    print(f"{name}: {len(data)} bytes, {sum(p.numel() for p in model.parameters())} parameters")


def conv_norm(inputs, outputs, kernel, stride=1, groups=1, act=nn.ReLU):
    parts = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
             nn.BatchNorm2d(outputs)]
    return nn.Sequential(*parts, *([act()] if act else []))


class Residual(nn.Module):
    def __init__(self, inputs, width, outputs, stride, bottleneck):
        super().__init__()
        if bottleneck:
            self.body = nn.Sequential(conv_norm(inputs, width, 1), conv_norm(width, width, 3, stride),
                                      conv_norm(width, outputs, 1, act=None))
        else:
            self.body = nn.Sequential(conv_norm(inputs, width, 3, stride),
                                      conv_norm(width, outputs, 3, act=None))
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = conv_norm(inputs, outputs, 1, stride, act=None)

    def forward(self, x):
        shortcut = x if self.shortcut is None else self.shortcut(x)
        return torch.relu(self.body(x) + shortcut)


class ResNet(nn.Module):
    """He et al. 2016; the stride is in the 3x3 convolution, as torchvision has it."""

    def __init__(self, units, bottleneck, classes):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1))
        blocks, inputs = [], 64
        for stage, count in enumerate(units):
            width = 64 * 2**stage
            outputs = width * (4 if bottleneck else 1)
            for unit in range(count):
                stride = 2 if stage > 0 and unit == 0 else 1
                blocks.append(Residual(inputs, width, outputs, stride, bottleneck))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        inner = inputs * expand
        parts = [conv_norm(inputs, inner, 1, act=nn.ReLU6)] if expand > 1 else []
        parts += [conv_norm(inner, inner, 3, stride, inner, nn.ReLU6),
                  conv_norm(inner, outputs, 1, act=None)]
        self.body = nn.Sequential(*parts)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class MobileNetV2(nn.Module):
    """Sandler et al. 2018, Table 2."""

    def __init__(self):
        super().__init__()
        parts, inputs = [conv_norm(3, 32, 3, 2, act=nn.ReLU6)], 32
        for expand, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                               (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for unit in range(count):
                parts.append(Inverted(inputs, outputs, stride if unit == 0 else 1, expand))
                inputs = outputs
        parts.append(conv_norm(inputs, 1280, 1, act=nn.ReLU6))
        self.features = nn.Sequential(*parts)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class Vgg16(nn.Module):
    """Simonyan and Zisserman, ICLR 2015, configuration D."""

    def __init__(self):
        super().__init__()
        parts, inputs = [], 3
        for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
            for _ in range(count):
                parts += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU(inplace=True)]
                inputs = width
            parts.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*parts)
        self.classifier = nn.Sequential(nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(),
                                        nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
                                        nn.Linear(4096, 1000))

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.view(x.size(0), -1))


class Lrn(nn.Module):
    """One LRN node, as other exporters write it: PyTorch takes it apart."""

    class Node(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x.clone()

        @staticmethod
        def symbolic(graph, x):
            return graph.op("LRN", x, size_i=5)

    def forward(self, x):
        return Lrn.Node.apply(x)


class Branches(nn.Module):
    def __init__(self, inputs, one, three_reduce, three, five_reduce, five, proj):
        super().__init__()

        def conv(inner, outputs, kernel):
            return nn.Sequential(nn.Conv2d(inner, outputs, kernel, padding=kernel // 2), nn.ReLU())
        self.one = conv(inputs, one, 1)
        self.three = nn.Sequential(conv(inputs, three_reduce, 1), conv(three_reduce, three, 3))
        self.five = nn.Sequential(conv(inputs, five_reduce, 1), conv(five_reduce, five, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), conv(inputs, proj, 1))

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


class GoogLeNet(nn.Module):
    """Szegedy et al., CVPR 2015, Table 1, without the auxiliary heads."""

    def __init__(self):
        super().__init__()
        parts = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
                 Lrn(), nn.Conv2d(64, 64, 1), nn.ReLU(),
                 nn.Conv2d(64, 192, 3, padding=1), nn.ReLU(), Lrn(),
                 nn.MaxPool2d(3, 2, ceil_mode=True)]
        rows = ((192, 64, 96, 128, 16, 32, 32), (256, 128, 128, 192, 32, 96, 64), 0,
                (480, 192, 96, 208, 16, 48, 64), (512, 160, 112, 224, 24, 64, 64),
                (512, 128, 128, 256, 24, 64, 64), (512, 112, 144, 288, 32, 64, 64),
                (528, 256, 160, 320, 32, 128, 128), 0, (832, 256, 160, 320, 32, 128, 128),
                (832, 384, 192, 384, 48, 128, 128))
        parts += [Branches(*row) if row else nn.MaxPool2d(3, 2, ceil_mode=True) for row in rows]
        self.features = nn.Sequential(*parts)
        self.classifier = nn.Sequential(nn.AvgPool2d(7), nn.Flatten(), nn.Dropout(0.4),
                                        nn.Linear(1024, 1000))

    def forward(self, x):
        return self.classifier(self.features(x))


class EncoderLayer(nn.Module):
    def __init__(self, hidden, heads, inner):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(hidden, hidden) for _ in range(4))
        self.norm, self.out_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.wide, self.narrow = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.gelu, self.drop = nn.GELU(), nn.Dropout(0.1)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
        mixed = self.drop((scores + mask).softmax(-1)) @ value
        mixed = mixed.permute(0, 2, 1, 3).contiguous()
        mixed = mixed.view(mixed.size(0), mixed.size(1), -1)
        x = self.norm(self.drop(self.output(mixed)) + x)
        return self.out_norm(self.drop(self.narrow(self.gelu(self.wide(x)))) + x)


class Bert(nn.Module):
    """Devlin et al. 2019, for question answering, as Hugging Face's code computes it."""

    def __init__(self, layers=12, hidden=768, heads=12, vocabulary=30522):
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.places = nn.Embedding(512, hidden)
        self.kinds = nn.Embedding(2, hidden)
        self.norm, self.drop = nn.LayerNorm(hidden), nn.Dropout(0.1)
        self.layers = nn.ModuleList(EncoderLayer(hidden, heads, 4 * hidden) for _ in range(layers))
        self.ends = nn.Linear(hidden, 2)
        self.register_buffer("place_numbers", torch.arange(512).expand(1, -1))

    def forward(self, tokens, mask, kinds):
        places = self.place_numbers[:, :tokens.size(1)]
        x = self.words(tokens) + self.places(places) + self.kinds(kinds)
        x = self.drop(self.norm(x))
        mask = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return self.ends(x)


class TinyVit(nn.Module):
    """Dosovitskiy et al., ICLR 2021, section 3.1, on torch's own encoder layers."""

    def __init__(self, hidden=64, heads=4, layers=2):
        super().__init__()
        self.patches = nn.Conv2d(3, hidden, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, hidden))
        self.places = nn.Parameter(torch.zeros(1, 5, hidden))
        layer = nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(hidden, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


class Mixed(nn.Module):
    """What other networks have: dilation, hard swish, gates, channels split and joined."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 2, 2, dilation=2)
        self.norm = nn.BatchNorm2d(16)
        self.squeeze, self.excite = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)
        self.tall = nn.Conv2d(8, 8, (3, 1), padding=(1, 0), groups=2)
        self.norm2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = nn.functional.hardswish(self.norm(self.stem(x)))
        gate = self.excite(nn.functional.silu(self.squeeze(x.mean([2, 3], keepdim=True))))
        left, right = (x * gate.sigmoid()).chunk(2, 1)
        x = self.norm2(torch.cat([left, self.tall(right)], 1))
        return self.fc(nn.functional.leaky_relu(x).mean([2, 3]))


def main():
    torch.manual_seed(0)
    image = torch.zeros(2, 3, 224, 224)
    named = {"input_names": ["image"], "output_names": ["scores"]}
    open_batch = {"dynamic_axes": {"image": {0: "batch"}}, **named}
    write("resnet-50.onnx", ResNet((3, 4, 6, 3), True, 1000), image, training=True, **open_batch)
    write("resnet-18-training.onnx", ResNet((2, 2, 2, 2), False, 10), image, training=True, **named)
    write("resnet-18-folded.onnx", ResNet((2, 2, 2, 2), False, 10), image, **named)
    write("mobilenet-v2.onnx", MobileNetV2(), image, opset=11, training=True, **named)
    write("vgg-16.onnx", Vgg16(), image, opset=9, training=True, **open_batch)
    write("googlenet.onnx", GoogLeNet(), image, opset=10, training=True, **named)
    open_sides = {"dynamic_axes": {"image": {0: "batch", 2: "height", 3: "width"}}, **named}
    write("mixed.onnx", Mixed(), torch.zeros(2, 3, 32, 32), opset=14, training=True, **open_sides)
    write("vit.onnx", TinyVit(), torch.zeros(1, 3, 32, 32), opset=14, training=True, **named)
    ids = torch.zeros(1, 384, dtype=torch.long)
    names = ["tokens", "mask", "kinds"]
    text = {"input_names": names, "output_names": ["ends"]}
    open_text = {"dynamic_axes": {name: {0: "batch", 1: "sequence"} for name in names}, **text}
    write("bert-base.onnx", Bert(), (ids, torch.ones_like(ids), ids), opset=12, training=True,
          node_names=False, **text)
    write("bert-tiny-17.onnx", Bert(2, 128, 2, 1000), (ids, torch.ones_like(ids), ids), opset=17,
          training=True, **open_text)


if __name__ == "__main__":
    main()
