"""The bases by their definitions: loops over queries and negatives, on scalars that carry gradients."""

import torch


def negatives(count, out):
    """The negatives of each row: all others but the pairs in `out`."""
    return [[j for j in range(count) if j != i and (i, j) not in out] for i in range(count)]


def both(row, image, text, offset, out):
    """Half the sum of both directions' mean over rows of `row(pair's, negatives')`, on cosine + offset."""
    total = 0
    for query, gallery in ((image, text), (text, image)):
        for i, others in enumerate(negatives(len(query), out)):
            total = total + row(query[i] @ gallery[i], [query[i] @ gallery[j] + offset[i, j] for j in others])
    return total / (2 * len(image))


def infonce(image, text, scale, offset, out=(), smoothing=0.0):
    def row(pair, others):
        logits = torch.stack([scale * score for score in [pair, *others]])
        log_shares = logits - logits.exp().sum().log()
        return -(1 - smoothing) * log_shares[0] - smoothing * log_shares.sum() / len(logits)

    return both(row, image, text, offset, out)


def reweighted(image, text, scale, offset, out=(), *, beta):
    def row(pair, others):
        total = sum((beta * scale * score).exp() for score in others)
        weights = [len(others) * (beta * scale * score).exp() / total for score in others]
        hard = sum(weight * (scale * score).exp() for weight, score in zip(weights, others, strict=True))
        return -((scale * pair).exp() / ((scale * pair).exp() + hard)).log()

    return both(row, image, text, offset, out)


def hardest(image, text, scale, offset, out=(), *, hinge):
    def row(pair, others):
        return max([pair * 0, *(hinge + score - pair for score in others)], key=torch.Tensor.item) + 0 * scale

    return both(row, image, text, offset, out)


def sigmoid(image, text, scale, offset, out=(), *, threshold):
    def row(pair, others):
        chances = [1 / (1 + (scale * (score - threshold)).exp()) for score in others]
        return -sum(chance.log() for chance in [1 / (1 + (-scale * (pair - threshold)).exp()), *chances])

    return both(row, image, text, offset, out)


def soft(image, text, scale, offset, out=(), *, mix, sharpness):
    """Here a row's shares hang on who the negatives are, so the loops run over columns too."""
    total, words = 0, text.detach()
    for query, gallery in ((image, text), (text, image)):
        for i, others in enumerate(negatives(len(query), out)):
            columns = [i, *others]
            logits = torch.stack([scale * (query[i] @ gallery[j] + (offset[i, j] if j != i else 0)) for j in columns])
            alike = torch.stack([sharpness * (words[i] @ words[j]) for j in columns]).exp()
            target = [mix * alike[k] / alike.sum() + (1 - mix) * (k == 0) for k in range(len(columns))]
            log_shares = logits - logits.exp().sum().log()
            total = total - sum(share * log_share for share, log_share in zip(target, log_shares, strict=True))
    return total / (2 * len(image))


BY_LOOPS = {"infonce": infonce, "reweighted": reweighted, "hardest": hardest, "sigmoid": sigmoid, "soft": soft}
