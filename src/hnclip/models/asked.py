"""Some tokens of each row in a tower's last block: the others' states are read by nothing, so they are not computed."""

import torch

from hnclip.models.packed import Packed, attention


class Asked(Packed):
    """Rows end to end, of which only the tokens in `asked_NT` attend: to those before them, or to the whole row.

    Every row asks for one token at least. `kept_K` are the places of asked tokens in the packed row.
    """

    def __init__(self, lengths: list[int], asked_NT: torch.Tensor, causal: bool):
        super().__init__(lengths, asked_NT.device)
        self.width, self.causal = asked_NT.shape[1], causal
        self.row_K, self.place_K = asked_NT.nonzero(as_tuple=True)
        self.asking = Packed(asked_NT.sum(1).tolist(), asked_NT.device)
        length_N = torch.tensor(lengths, device=asked_NT.device)
        self.kept_K = (length_N.cumsum(0) - length_N)[self.row_K] + self.place_K
        self.first_N = torch.cat([self.asking.last_N.new_zeros(1), self.asking.last_N[:-1] + 1])

    def spread(self, states_KW: torch.Tensor, rows: int) -> torch.Tensor:
        """States of asked tokens at their places in the first `rows` rows, [rows, T, W]; zeros in between."""
        count = sum(self.asking.lengths[:rows])
        place = (self.row_K * self.width + self.place_K)[:count]
        empty = states_KW.new_zeros(rows * self.width, states_KW.shape[1])
        return empty.index_copy(0, place, states_KW[:count]).unflatten(0, (rows, self.width))

    def one_by_one(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        counts = self.asking.lengths
        places = self.place_K.split(counts)
        parts = zip(query.split(counts, 1), key.split(self.lengths, 1), value.split(self.lengths, 1), strict=True)
        return torch.cat(
            [attention(*part, seen=self._seen(place, part[1])) for part, place in zip(parts, places, strict=True)], 1
        )

    def padded(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        width, most = max(self.lengths), max(self.asking.lengths)
        key, value = (self.filled(rows[0], width) for rows in (key, value))
        seen = self._seen(self.asking.filled(self.place_K, most)[:, None], key)
        mixed = attention(self.asking.filled(query[0], most), key, value, seen=seen)
        return mixed.flatten(0, 1).index_select(0, self.asking.places(most))[None]

    def _seen(self, place: torch.Tensor, key: torch.Tensor) -> torch.Tensor | None:
        return place[..., None] >= torch.arange(key.shape[1], device=key.device) if self.causal else None
