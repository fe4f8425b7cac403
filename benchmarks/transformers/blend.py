"""Adds a share of one encoder to another of the same layers, or takes it away; the layers may go over more pieces.

    python benchmarks/transformers/blend.py twelve e5-58k --share -0.6667 --over e5-80k --output start
    python benchmarks/transformers/blend.py learned e5-80k --share 0.25 --output mixed
    python benchmarks/transformers/blend.py six six --share 0 --over e5-96k --layers 0,4,8,9,10,11 --output six-96k

The first undoes `student.start_share=0.4`. The last puts layers that were kept by `distill reduce` over more pieces.
"""

import argparse

from distill.encoders.catalog.loading import load_keras_encoder
from distill.encoders.encoder import KerasEncoder
from distill.students.transformer.cutting import select_blocks
from distill.training.stages.transfer_stage import interpolate_weights


def main() -> None:
    """Save (1 - share) of the first encoder's weights and share of the second's.

    The table of ``--over`` takes the place of theirs, whose rows must be rows of it: it did not learn
    (``student.train_table=false``).
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", help="the folder that `distill transfer` saved")
    parser.add_argument("other", help="the folder that it started from")
    parser.add_argument("--share", type=float, required=True, help="of the other; below 0 it is taken away")
    parser.add_argument("--over", help="the folder whose table and pieces the result has")
    parser.add_argument("--layers", help="those of its layers that the result has, counted from 0; all without it")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    trained, other = (load_keras_encoder(folder) for folder in (options.trained, options.other))
    result = trained
    interpolate_weights(other.model, trained.model, options.share)
    if options.over:
        result = load_keras_encoder(options.over)
        if options.layers:
            places = [int(place) for place in options.layers.split(",")]
            result = KerasEncoder(select_blocks(result.model, places), result.tokenizer)
        pairs = zip(trained.model.get_weights(), result.model.get_weights(), strict=True)
        result.model.set_weights([one if one.shape == kept.shape else kept for one, kept in pairs])
    result.save(options.output)


if __name__ == "__main__":
    main()
