"""A network as a list of layers, in the words of Caffe's catalogue, and where it is written."""

import json
import pathlib

DLE = "NVIDIA/DeepLearningExamples"


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
        path = pathlib.Path(__file__).resolve().parent / (self.header["name"] + ".json")
        path.write_text("{\n" + head + ',\n  "layers": [\n' + rows + "\n  ]\n}\n", encoding="utf-8")


class FrozenNet(Net):
    """As detectors keep BatchNorm: neither statistics nor scale are learned."""

    def norm(self, name, bottom, in_place=True):
        return self.add(name, "BatchNorm", bottom, bottom if in_place else None)
