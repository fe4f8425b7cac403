"""Average the weights of two encoders of one kind, one of them trained further, to combine what both do well.

    python benchmarks/general/mean.py runs/general/teacher runs/general/tuned --output runs/general/mean

Wortsman et al. (2022), Robust fine-tuning of zero-shot models, section 3.
"""

import argparse

from distill.encoders.catalog.loading import load_keras_encoder
from distill.training.stages.transfer_stage import interpolate_weights


def main():
    options = parse()
    one, other = load_keras_encoder(options.one), load_keras_encoder(options.other)
    interpolate_weights(one.model, other.model, 1 - options.share)
    other.save(options.output)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("one", help="a saved encoder")
    parser.add_argument("other", help="another with the same pieces")
    parser.add_argument("--share", type=float, default=0.5, help="of the other")
    parser.add_argument("--output", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
