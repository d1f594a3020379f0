"""Llama and its kin by their config.json, for train_step.py and torch_kernels.py."""

import math


def rms_norm_class(torch):
    """torch.nn's, from PyTorch 2.4 on."""
    class RmsNorm(torch.nn.Module):
        def __init__(self, size, eps):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(size))
            self.eps = eps

        def forward(self, x):
            wide = x.float()
            wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
            return wide.type_as(x) * self.weight

    return getattr(torch.nn, "RMSNorm", RmsNorm)


def rotated(torch, values, turns):
    """Of words x heads x head size, by complex numbers in FP32."""
    pairs = torch.view_as_complex(values.float().reshape(*values.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(3).type_as(values)


def attend(torch, query, key, value):
    """Causal; of batch x heads x words x head size, as many keys as queries."""
    fused = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if fused:
        return fused(query, key, value, is_causal=True)
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(ahead, -math.inf).softmax(-1) @ value


def decoder_layer_class(torch):
    nn = torch.nn
    norm = rms_norm_class(torch)

    class Layer(nn.Module):
        def __init__(self, config):
            super().__init__()
            hidden, inner = config["hidden_size"], config["intermediate_size"]
            self.heads = config["num_attention_heads"]
            self.kv_heads = config.get("num_key_value_heads") or self.heads
            self.size = config.get("head_dim") or hidden // self.heads
            eps = config.get("rms_norm_eps", 1e-5)
            self.attention_norm, self.mlp_norm = norm(hidden, eps), norm(hidden, eps)
            self.query = nn.Linear(hidden, self.heads * self.size, bias=False)
            self.key = nn.Linear(hidden, self.kv_heads * self.size, bias=False)
            self.value = nn.Linear(hidden, self.kv_heads * self.size, bias=False)
            self.output = nn.Linear(self.heads * self.size, hidden, bias=False)
            self.gate = nn.Linear(hidden, inner, bias=False)
            self.up = nn.Linear(hidden, inner, bias=False)
            self.down = nn.Linear(inner, hidden, bias=False)

        def forward(self, x, turns):
            normed = self.attention_norm(x)
            batch, words, _ = x.shape

            def heads(product, count):
                return product(normed).view(batch, words, count, self.size)

            query = rotated(torch, heads(self.query, self.heads), turns)
            key = rotated(torch, heads(self.key, self.kv_heads), turns)
            value = heads(self.value, self.kv_heads)
            if self.kv_heads != self.heads:
                key, value = (each.repeat_interleave(self.heads // self.kv_heads, dim=2)
                              for each in (key, value))
            attended = attend(torch, *(each.transpose(1, 2) for each in (query, key, value)))
            x = x + self.output(attended.transpose(1, 2).reshape(batch, words, -1))
            normed = self.mlp_norm(x)
            return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))

    return Layer


def decoder(torch, config):
    """Llama (Touvron et al. 2023) as its config.json says."""
    nn = torch.nn
    layer, norm = decoder_layer_class(torch), rms_norm_class(torch)

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            hidden = config["hidden_size"]
            self.embedding = nn.Embedding(config["vocab_size"], hidden)
            self.layers = nn.ModuleList(layer(config) for _ in range(config["num_hidden_layers"]))
            self.norm = norm(hidden, config.get("rms_norm_eps", 1e-5))
            self.head = nn.Linear(hidden, config["vocab_size"], bias=False)
            if config.get("tie_word_embeddings"):
                self.head.weight = self.embedding.weight
            self.turns = None

        def turns_of(self, words):
            size = self.layers[0].size
            rates = config.get("rope_theta", 10000.0) ** (-torch.arange(0, size, 2).float() / size)
            angles = torch.outer(torch.arange(words).float(), rates)
            return torch.polar(torch.ones_like(angles), angles)[:, None, :]

        def forward(self, tokens):
            if self.turns is None:
                self.turns = self.turns_of(tokens.shape[1]).to(tokens.device)
            x = self.embedding(tokens)
            for each in self.layers:
                x = each(x, self.turns)
            return self.head(self.norm(x))

    return Decoder()
