"""What the writer of tables escapes and where it draws lines."""

from hnclip.report.writer import Table, latex, markdown


def test_special_characters_are_escaped():
    table = Table("50 % & more", ["a_b", "c|d"], [["x_1 {y}", "[1, 2]"], ["back\\slash", "~^#$"]], ["γ < 1\nand *so*"])
    text = markdown([table])
    assert "| a\\_b | c\\|d |" in text and "- γ \\< 1 and \\*so\\*" in text
    tex = latex([table])
    assert "\\caption{50 \\% \\& more}" in tex and "x\\_1 \\{y\\} & {}[1, 2] \\\\" in tex
    assert "back\\textbackslash{}slash & \\textasciitilde{}\\textasciicircum{}\\#\\$ \\\\" in tex
    assert "$\\gamma$ $<$ 1 and *so*" in tex and "\\multicolumn" not in tex


def test_spans_and_rules():
    table = Table("t", ["m", "R@1", "R@5"], [["a", "1", "2"], ["b", "3", "4"]], [], [("", 1), ("both", 2)], [1])
    tex = latex([table])
    assert "\\multicolumn{1}{c}{} & \\multicolumn{2}{c}{both} \\\\\n\\cmidrule(lr){2-3}" in tex
    assert tex.index("a & 1") < tex.rindex("\\midrule") < tex.index("b & 3")
    assert "| m | both R@1 | both R@5 |" in markdown([table])
