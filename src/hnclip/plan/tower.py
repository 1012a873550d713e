"""One tower of a CLIP counted: parameters, floating-point operations, bytes that a forward pass keeps.

Of the last block only keys and values are computed of all tokens; the rest is for the tokens that are read, as in
`hnclip.models.blocks`. W is the tower's width, r the width of its MLP over W.
"""

from dataclasses import dataclass

FP32, HALF = 4, 2  # bytes of a number
PROJECTIONS = 4  # of a block's attention: query, key, value, output


@dataclass(frozen=True)
class Adapted:
    """Adapters beside frozen weights: their rank, and whether they are DoRA's."""

    rank: int
    dora: bool


@dataclass(frozen=True)
class Tower:
    """A transformer: its blocks, their width, and the tokens' way in and out."""

    layers: int
    width: int
    mlp_ratio: float
    embed_dim: int
    entry: int  # parameters before the first block
    entry_flops: float = 0.0  # a row, before the first block
    entry_inputs: float = 0.0  # numbers a row that the product before the first block reads
    packed: bool = False  # rows end to end, whose attention's outputs are put together by a copy

    def forward(self, tokens: float, read: float = 1.0) -> float:
        """Operations of the forward pass of one row of which `read` tokens are read after the last block."""
        return self.entry_flops + self.linear(tokens, read) + self.attention(tokens, read)

    def linear(self, tokens: float, read: float = 1.0) -> float:
        """Operations of a forward pass in products of the blocks' and the last projection's weights."""
        of_read = (4 + 4 * self.mlp_ratio) * ((self.layers - 1) * tokens + read)
        of_all = 4 * self.layers * tokens
        return (of_read + of_all) * self.width**2 + 2 * self.width * self.embed_dim

    def attention(self, tokens: float, read: float = 1.0) -> float:
        """Operations of a forward pass in products of tokens with tokens."""
        return 4 * self.width * tokens * ((self.layers - 1) * tokens + read)

    def training(self, tokens: float, read: float = 1.0) -> float:
        """Operations of a forward and backward pass; pixels and token ids need no gradient."""
        return 2 * self.entry_flops + 3 * (self.linear(tokens, read) + self.attention(tokens, read))

    def adapted(self, tokens: float, read: float, adapted: Adapted) -> float:
        """The same where adapters are trained: frozen weights need no gradient, nor does what enters the blocks."""
        halves = (self.layers - 1) * tokens + (tokens + read) / 2  # of the last block's four projections two are of all
        added = PROJECTIONS * 4 * halves * self.width * adapted.rank
        entering = 6 * tokens * self.width**2
        total = self.entry_flops + 2 * self.linear(tokens, read) - entering
        return total + 3 * (self.attention(tokens, read) + added)

    @property
    def parameters(self) -> int:
        """Weights and biases, norms, positions and the last projection included."""
        return self.entry + self.layers * self.block + 2 * self.width + self.width * self.embed_dim

    @property
    def block(self) -> int:
        """Parameters of a block."""
        hidden = int(self.width * self.mlp_ratio)
        return 4 * self.width * (self.width + 1) + 2 * self.width * hidden + hidden + self.width + 4 * self.width

    def kept(self, tokens: float, read: float, mixed: bool, adapted: Adapted | None = None) -> float:
        """Bytes that one row's forward pass keeps for the backward pass.

        Under mixed precision the inputs of norms stay fp32 and the others are 16 bits wide.
        """
        total = (self.layers - 1) * self.block_kept(tokens, tokens, mixed, adapted)
        total += self.block_kept(tokens, read, mixed, adapted) + self.entry_kept(tokens, mixed, adapted)
        return total - (FP32 * tokens * self.width if adapted else 0)  # what enters the first block needs no gradient

    def entry_kept(self, tokens: float, mixed: bool, adapted: Adapted | None = None) -> float:
        """Bytes kept of a row before the first block: the inputs of the patches' product and of the norm after it."""
        if adapted or not self.entry_inputs:
            return 0.0
        return (HALF if mixed else FP32) * self.entry_inputs + FP32 * tokens * self.width

    def block_kept(self, tokens: float, read: float, mixed: bool, adapted: Adapted | None = None) -> float:
        """Bytes that a block keeps of one row, `read` of its tokens being read.

        In numbers of W: the inputs of two norms; the input of query, key and value, these, what attention gives (twice
        where it is copied), and the inputs of the MLP and, r, of its activation and of its second product. QuickGELU
        keeps its input alone. Beside frozen weights the inputs of the MLP's products are not kept; adapters keep
        what lies between their factors, and DoRA two outputs a projection.
        """
        norms = tokens + read
        others = 3 * tokens + (3 + self.packed + 2 * self.mlp_ratio) * read
        if read < tokens:
            others += read  # the tokens read are copied for their queries
        if adapted:
            others -= (1 + self.mlp_ratio) * read
            others += (tokens + read) * PROJECTIONS / 2 * (adapted.rank / self.width + 2 * adapted.dora)
        return self.width * (norms * FP32 + others * (HALF if mixed else FP32))

    def inputs(self, tokens: float) -> float:
        """Bytes of what enters the blocks of one row, all that is kept of them where they are computed again."""
        return FP32 * self.layers * tokens * self.width
