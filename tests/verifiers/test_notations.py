"""Answers in other notations and languages: units by their size, words, conditions, cases, unions, and near misses."""

import pytest

from rlvr.verifiers import _math_verify
from rlvr.verifiers import math as maths


@pytest.fixture(autouse=True)
def no_alarm(monkeypatch):
    """As in a worker: math-verify's own time-out counts clock time, which a busy machine takes for the first import."""
    monkeypatch.setattr(_math_verify, "IN_A_WORKER", True)


RIGHT = [
    (r"e^{\mathrm{e}}", "e^e"), (r"\forall x \in \mathbb{R}, f(x)=2x", "f(x)=2x"), ("3小时20分", r"200 \text{ min}"),
    (r"\left\{\begin{array}{ll} x & x>0 \\ 0 & x \le 0\end{array}\right.",
     r"\begin{cases} x & x>0 \\ 0 & x\le 0\end{cases}"),
    (r"5\ \text{mol}\cdot\text{L}^{-1}", r"5 \text{ mol/L}"), (r"\mathrm{e}^{\mathrm{i}\pi}", "-1"),
    (r"5 \text{ mmol}", r"0.005 \text{ mol}"), (r"3.2\ \mathrm{kJ\cdot mol^{-1}}", "3.2"),
    (r"3.2\ \mathrm{kJ\,mol^{-1}}", r"3.2 \text{ kJ/mol}"), (r"9.8\,\frac{\text{m}}{\text{s}^2}", "9.8"),
    (r"7\text{ кг}", "7"), ("7 кг", r"7 \text{ kg}"), (r"45\,\text{мин}", "45"), ("15秒", "15"), ("8 米/秒", "8"),
    (r"8\text{ m s}^{-1}", r"8 \text{ m/s}"), (r"\mathrm{e}^{-2}", "e^{-2}"),
    (r"\frac{\mathrm e}{2}", r"\frac{e}{2}"), (r"2\mathrm{e}-1", "2e-1"), (r"\text{e}^{x}", "e^x"), ("4或9", "4,9"),
    (r"x=2\text{或}x=-5", "2,-5"), (r"\{4,9\}", "4或9"), ("9!!", "945"), ("10!!", "3840"),
    (r"\frac{7!!}{8!!}", r"\frac{35}{128}"), (r"g(x)=3x-2 \text{ for every real } x", "g(x)=3x-2"),
    (r"f(x)=ax, \text{ where } a \in \mathbb{R}", "f(x)=ax"),
    (r"f(n) = n^2 \quad \forall n \in \mathbb{N}", "f(n)=n^2"), (r"2^{n}-1 \text{ for } n \ge 1", "2^n-1"),
    (r"\frac{1}{x}, \ x \neq 0", r"\frac1x"),
    (r"\begin{cases} 2x, & \text{if } x > 1, \\ 3, & \text{otherwise.} \end{cases}",
     r"\begin{cases} 2x & x>1 \\ 3 & \text{otherwise}\end{cases}"),
    (r"\begin{cases} 2x & \text{for } x \geq 1 \\ x+1 & \text{for } x<1 \end{cases}",
     r"\begin{cases} x+1, & x<1 \\ 2x, & x\ge 1\end{cases}"),
    (r"\text{the empty set}", r"\emptyset"), (r"\varnothing", r"\text{no real solutions}"),
    (r"\text{There are no solutions}", r"\text{No solution}"),
    (r"(-\infty,-3) \text{ and } (5,\infty)", r"(-\infty,-3)\cup(5,\infty)"),
    (r"(-\infty,-3),(5,\infty)", r"(-\infty,-3)\cup(5,\infty)"),
    (r"(-\infty,-3] \text{ or } [5,\infty)", r"(-\infty,-3]\cup[5,\infty)"), ("x‑3", "x-3"), ("‐7", "-7"),
    ("x ∈ ℝ", r"\mathbb{R}"), (r"ℝ \setminus \{1\}", r"(-\infty,1)\cup(1,\infty)"), (r"\text{US\$ }250", "250"),
    (r"US\$250", "250"), ("EUR 30", "30"), (r"\text{€}30", "30"), ("£4.20", "4.2"), ("¥300", "300"),
    (r"\mathrm{CHF}\ 25", "25"), (r"HK\$80", "80"), (r"\fbox{\frac{3}{7}}", "3/7"), (r"3 \text{ apples}", "3"),
    (r"\frac{5\pi}{6}+n\pi", r"\frac{5\pi}{6}+k\pi"), (r"90^\circ", r"\frac{\pi}{2}"),
    (r"2.5 \text{ h}", r"2 \text{ hours } 30 \text{ minutes}"), (r"1 \text{ h } 15 \text{ min}", r"75 \text{ min}"),
    (r"300 \text{ cm}", r"3 \text{ m}"), (r"\text{22 July}", "July 22"), (r"\text{July 22nd, 1990}", "July 22, 1990"),
    (r"\text{seven}", "7"), ("五", "5"), ("十二", "12"), ("7.2万", "72000"), (r"7.2 \text{万}", "72000"),
    ("]−1, 4]", "(-1,4]"), (r"\text{all reals}", r"\mathbb{R}"), (r"\text{Yes, since 7 is prime}", r"\text{Yes}"),
    ("i^7", "-i"), (r"e^{i\pi/2}", "i"), ("(2-i)(2+i)", "5"), (r"\sqrt{\pi}", r"\pi^{1/2}"), ("3^{0.5}", r"\sqrt3"),
    (r"\frac{1}{2}\text{ hour}", r"30 \text{ minutes}"), (r"0.\dot{2}\dot{7}", r"\frac{3}{11}"), ("0.(27)", "3/11"),
    ("5 : 7", "5:7"), (r"5 \text{ to } 7", "5/7"), (r"\$ 12.50", "12.5"), (r"\text{12 USD}", "12"),
    ("P(2,-1)", "(2,-1)"), ("6{:}20", "6:20"), (r"x \equiv 2, 3 \pmod 5", r"x \equiv \pm 2 \pmod 5"),
    (r"4n+1, n \in \mathbb{Z}", "4n+1"), (r"4n+1 (n \in \mathbb{Z})", "4n+1"),
    (r"x<3 \text{ and } x \ne -1", r"(-\infty,-1)\cup(-1,3)"), (r"\{2,4,\ldots,12\}", r"\{2,4,6,8,10,12\}"),
    ("5 kg", "5"), ("25 m^2", "25"), ("100 km/h", r"100 \text{ km/h}"), ("12 people", "12"),
    (r"12 \text{ square meters}", r"12 \text{ m}^2"), (r"12 \text{ m}^2", r"12\text{ m²}"),
    (r"2 \text{ dozen}", r"2\text{ dozen}"), (r"15 \text{ years old}", r"15 \text{ years}"),
    (r"15 \text{ years}", "15"), (r"\text{Option B}", r"\text{Option B}"), (r"k \ge 2", r"[2,\infty)"),
    (r"\frac{3}{4} \text{ cup}", r"\frac34"), (r"60 \text{ miles per hour}", r"60 \text{ mph}"),
    (r"5.0 \times 10^{-7} \text{ m}", r"500 \text{ nm}"), (r"3 \text{ 个}", "3"), (r"3 \text{ ways}", "3"),
    (r"18 \text{ girls}", "18"), (r"\text{does not exist}", r"\text{DNE}"),
    (r"\text{undefined}", r"\text{undefined}"),
]  # fmt: skip
WRONG = [
    (r"\$5", r"5\%"), (r"15^\circ", r"15\%"), (r"f(x)=2x \text{ for } x < 3", "f(x)=2x"),
    (r"2^n \text{ for } n \ge 12", "2^n"),
    ("5 лет", r"5 \text{ месяцев}"), ("5年", "5日"), (r"15 \text{ m/min}", r"15 \text{ m/s}"), ("5-6", "5"),
    ("5~6", "5"),
    (r"5 \text{ mmol}", r"5 \text{ mol}"), (r"5 \text{ ммоль}", r"5 \text{ моль}"),
    (r"7 \text{ минут}", r"7 \text{ часов}"), ("7 см", "7 м"), (r"7\text{ см}", r"7 \text{ cm}^2"),
    (r"7 \text{ Stunden}", r"7 \text{ Minuten}"), ("7 horas", "7 minutos"), ("7 heures", "7 minutes"),
    ("7시간", "7분"), ("7時間", "7分"), ("7小时", "7分钟"), ("3千米", "3米"), ("3公斤", "3克"),
    (r"3 \text{ kJ}", r"3 \text{ J}"), ("3 kg", "3 g"), (r"3 \text{ even numbers}", r"3 \text{ odd numbers}"),
    (r"\text{even numbers}", r"\text{odd numbers}"), (r"\text{all even integers}", r"\text{all odd integers}"),
    (r"12 \text{ boys}", r"12 \text{ girls}"), (r"3 \text{ m/s}", r"3 \text{ km/h}"),
    (r"3 \text{ N}\cdot\text{m}", r"3 \text{ N}"), (r"3 \text{ cm}^2", r"3 \text{ cm}^3"), ("€5", r"\$5"),
    (r"5 \text{ euros}", r"5 \text{ dollars}"), (r"\$5", r"5 \text{ cents}"), (r"\mathrm{e}^3", r"\mathrm{e}^2"),
    (r"2\mathrm{e}", "2"), ("4或9", "4"), ("4或8", "4,9"), ("9!!", "9!"), ("9!!", "362880"), ("7!!", "48"),
    (r"(-\infty,-3) \text{ and } (4,\infty)", r"(-\infty,-3)\cup(5,\infty)"),
    (r"(-\infty,-3]\text{ and }(5,\infty)", r"(-\infty,-3)\cup(5,\infty)"), ("(-3,5)", r"(-\infty,-3)\cup(5,\infty)"),
    ("(1,2),(3,4)", "(1,2),(3,5)"), (r"g(x)=3x-2 \text{ for every real } x", "g(x)=3x+2"),
    (r"x+1 \text{ for } x>5", "x+1"), (r"x^2 \text{ if } x<0", "x^2"), (r"f(x)=ax \text{ for all } x", "f(x)=bx"),
    (r"\begin{cases} 2x & x>1 \\ 3 & x \le 1 \end{cases}", r"\begin{cases} 3 & x>1 \\ 2x & x\le 1\end{cases}"),
    (r"\begin{cases} 2x & x>1 \\ 3 & x \le 1 \end{cases}", r"\begin{cases} 2x & x\ge 1 \\ 3 & x< 1\end{cases}"),
    (r"\begin{cases} 2x & x>1 \end{cases}", r"\begin{cases} 2x & x> 1 \\ 3 & x\le 1\end{cases}"),
    (r"\begin{cases}n & n \text{ odd}\\ 0 & n \text{ even}\end{cases}",
     r"\begin{cases}n & \text{if } n \text{ is even}\\ 0 & \text{if } n \text{ is odd}\end{cases}"),
    (r"\emptyset", "0"), (r"\text{no solution}", r"\text{infinitely many solutions}"), (r"\text{no solution}", "0"),
    (r"\text{No}", r"\text{No solution}"), (r"\text{one solution}", r"\text{no solution}"), (r"\text{DNE}", "0"),
    (r"\text{does not exist}", r"\infty"), ("ℝ", "ℤ"), ("ℝ", "ℚ"), ("x‑3", "x+3"), ("‐7", "7"), (r"US\$250", "25"),
    (r"\text{July 22}", "July 21"), (r"\text{22 June}", "July 22"), (r"\text{July 22, 1990}", "July 22, 1991"),
    ("2024-05-06", "2024-06-05"), ("2020-01-02", "2017"), (r"\text{seven}", "8"), ("五", "6"), ("十二", "2"),
    ("十二", "20"), ("7.2万", "7.2"), ("7.2万", "7200"), ("3亿", "3万"), ("]−1, 4]", "[-1,4]"), ("]-1,4[", "[-1,4]"),
    (r"\text{all reals}", r"\text{all positive reals}"), (r"\mathbb{R}", r"\mathbb{R}^+"),
    (r"\text{Yes}", r"\text{No}"), (r"\text{Yes, it is}", r"\text{No}"), ("i^7", "i"), (r"e^{i\pi/2}", "-i"),
    ("i^2", "1"), (r"\sqrt{10^{30}+1}", "10^{15}"), ("10^{40}+1", "10^{40}"), (r"\sqrt{10^{20}-1}", "10^{10}"),
    (r"90^\circ", r"\frac{\pi}{3}"), (r"90^\circ", r"\pi"),
    (r"2.5 \text{ h}", r"2 \text{ hours } 50 \text{ minutes}"), (r"500 \text{ g}", r"5 \text{ kg}"),
    (r"1 \text{ h } 15 \text{ min}", r"1.15 \text{ h}"), ("0.(27)", "27/100"), (r"5 \text{ to } 7", "7:5"),
    ("6{:}20", "6:02"), (r"x \equiv 2 \pmod 5", r"x \equiv \pm 2 \pmod 5"),
    (r"x \equiv 1, 3 \pmod 5", r"x \equiv \pm 2 \pmod 5"), (r"x<3 \text{ and } x \ne 1", r"(-\infty,-1)\cup(-1,3)"),
    ("x<3", r"(-\infty,-1)\cup(-1,3)"), (r"\{2,4,\ldots,14\}", r"\{2,4,6,8,10,12\}"),
    (r"\frac{5\pi}{6}+2n\pi", r"\frac{5\pi}{6}+k\pi"), (r"\frac{k\pi}{6}+n\pi", r"\frac{k\pi}{6}+m\pi"),
    ("P(2,-1)", "(2,1)"), ("1101_2", "12"), (r"\frac{1}{23}", r"\frac{12}{3}"), (r"3 \text{ am}", r"3 \text{ pm}"),
    (r"4n+1, n \in \mathbb{N}", r"4n+1, n \in \mathbb{Z}"), ("盈利7元", "亏损7元"), ("上升3米", "下降3米"),
    (r"5\text{万}", "5"), (r"50\text{ hundredths}", "50"), (r"7 \text{ or more}", "7"), (r"\text{at least } 7", "7"),
    (r"\text{not } 7", "7"), (r"\text{more than } 7", "7"), (r"\neq 7", "7"), (">7", "7"), ("7+", "7"),
    (r"3 \text{ times } 4", "3"), (r"3\text{ half}", "3"), (r"12 \text{ or } 13", "12"),
    (r"3 \text{ Gb}", r"3 \text{ Mb}"), (r"5 \text{ mL}", r"5 \text{ L}"), (r"5 \text{ μm}", r"5 \text{ mm}"),
    (r"5\ \mu\text{m}", r"5 \text{ mm}"), ("5 ms", "5 s"),
    (r"10 \text{ metres per minute}", r"10 \text{ metres per second}"), (r"10 \text{ workers}", r"10 \text{ days}"),
    ("0.333", r"\frac13"), (r"\text{red}", r"\text{blue}"), ("A", "B"), (r"2x \text{ cm}", r"2 \text{ cm}"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), RIGHT)
def test_another_notation_of_the_gold_is_correct(answer, gold):
    assert maths.judge(f"\\boxed{{{answer}}}", gold)[0] == "correct"


@pytest.mark.parametrize(("answer", "gold"), WRONG)
def test_a_near_miss_is_not_correct(answer, gold):
    assert maths.judge(f"\\boxed{{{answer}}}", gold)[0] != "correct"


def test_an_empty_box_behind_an_answer_only_names_the_box():
    assert maths.judge("\\boxed{12}. As asked, it is inside \\boxed{}.", "12")[0] == "correct"
    assert maths.judge("\\boxed{}", "12")[0] == "unparsable"
