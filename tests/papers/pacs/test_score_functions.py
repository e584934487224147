"""The published values of Tables 9 to 13 in a file of their own, for one claim over five benchmarks."""

import pandas as pd
from conftest import ROOT

FOLDER = ROOT / "config/papers/pacs/reference"


def test_pass_1_of_the_five_tables_is_what_each_of_them_has():
    five = pd.concat([pd.read_csv(FOLDER / f"table{number}.csv") for number in range(9, 14)])
    together = pd.read_csv(FOLDER / "score_functions.csv")
    pd.testing.assert_frame_equal(together, five[five["k"] == 1].reset_index(drop=True))
    assert together.pivot_table(index="benchmark", columns="method", values="value").shape == (5, 3)
