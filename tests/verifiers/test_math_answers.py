"""Mathematical answers: what is equal to a gold and what is not, class by class, and golds that cannot be read."""

import random

import pytest
from support.math_answers import CLASSES, around, changed, drawn

from rlvr.verifiers import VerifierError
from rlvr.verifiers import math as maths

RIGHT = [
    ("f(3) = 5", "5"), ("P(5) = 7", "7"), ("f(1)+f(2) = 10", "10"), (r"\phi(12) = 4", "4"),
    (r"\text{lcm}(4,6) = 12", "12"), (r"\sin 30^\circ = \frac12", r"\frac12"), (r"\cos 60^\circ = 0.5", "0.5"),
    (r"\cos(60^\circ)", r"\frac12"), ("5 million", "5000000"), (r"5 \text{ million}", "5000000"),
    (r"3.5 \text{ million dollars}", "3500000"), ("12 (mod 13)", "12"), ("x ≡ 3 (mod 7)", r"3 \pmod 7"),
    ("(5,6)", "x=5, y=6"), ("5,6", "x=5, y=6"), ("3.14", r"\pi \approx 3.14"), (r"2^{10} \equiv 2 \pmod 7", "2"),
    (r"x>1 \text{ and } x<3", "1<x<3"), ("3>x>1", "1<x<3"), (r"2 \ne x", r"x \ne 2"), (r"30^\circ\text{C}", "30"),
    (r"\gcd(m,n)", r"\gcd(m, n)"), (r"\gcd(12,18)", "6"), ("2:4:6", "1:2:3"), ("1 : 2 : 3", "1:2:3"),
    ("x=1, y=3", "(x,y)=(1,3)"), (r"\frac{3\pm\sqrt{17}}{4}", r"\frac{3+\sqrt{17}}{4}, \frac{3-\sqrt{17}}{4}"),
    (r"\frac{3+\sqrt{17}}{4}\text{ and }\frac{3-\sqrt{17}}{4}", r"\frac{3\pm\sqrt{17}}{4}"),
    (r"x = \frac{3\pm\sqrt{17}}{4}", r"\frac{3\pm\sqrt{17}}{4}"), ("(-1 ± √5)/2", r"\frac{-1\pm\sqrt5}{2}"),
    (r"\text{42 apples}", "42"), (r"\text{\$32.50}", "32.50"), (r"\text{28 cm}", "28"), ("28", r"\text{28 cm}"),
    (r"\begin{cases}x=3\\y=4\end{cases}", "(3,4)"), (r"\begin{aligned} x &= 17 \end{aligned}", "17"),
    ("x &= 5", "x=5"), ("10^-4", "10^{-4}"), (r"5\cdot i", "5i"), ("3+4*i", "3+4i"), (r"3+4\mathrm{i}", "3+4i"),
    (r"\bf 5", "5"), (r"\color{red}{5}", "5"), (r"\textcolor{red}{5}", "5"), (r"\underline{5}", "5"),
    (r"\Rightarrow 42", "42"), ("42 ✓", "42"), (r"17\\", "17"), (r"5\\ ", "5"), ("17<|im_end|>", "17"),
    (r"{10 \choose 3}", r"\binom{10}{3}"), (r"\sqrt[3]4", r"\sqrt[3]{4}"), ("€12", "12"), ("12€", "12"),
    ("USD 18,000", "18000"), ("12th", "12"), (r"12^{\text{th}}", "12"), (r"12\text{ cm}, 18\text{ cm}", "12, 18"),
    (r"2 \text{ hours and } 30 \text{ minutes}", r"2 \text{ hours } 30 \text{ minutes}"),
    ("2 h 30 min", r"2\text{ hours } 30\text{ minutes}"), (r"45^{\circ}30^\prime", r"45^\circ30'"),
    (r"\textbf{(E)}\ 10", "10"), ("true", r"\text{True}"), ("True", "true"), (r"\text{3:30 p.m.}", "3:30"),
    (r"\text{March 15}", "March 15"), (r"\text{an ellipse}", r"\text{ellipse}"), (r"\mathbb R", r"\mathbb{R}"),
    (r"\text{infinity}", r"\infty"), (r"\{ \}", r"\emptyset"), (r"\langle 3,4\rangle", "(3,4)"),
    ("{1101}_2", "1101_2"), ("1101_{(2)}", "1101_2"), (r"5.5 \text{ m/s}", "5.5"), ("5.5 m/s", "5.5"),
    (r"9.8 \text{ m/s}^2", "9.8"), (r"5\text{ m}", "5"), (r"\text{8th}", "8"), ("3x = 15", "15"),
    (r"5 \text{ or } -3", "-3,5"), (r"-\frac{1}{2},\frac{3}{4}", r"\frac34, -\frac12"),
    (r"(-1,0)\text{ and }(1,0)", "(-1,0),(1,0)"), (r"\{(-1,0),(1,0)\}", "(-1,0),(1,0)"), ("2^{1/2}", r"\sqrt{2}"),
    (r"\$1{,}234.56", "1234.56"), (r"\$1,234.56", r"\$1234.56"), (r"12\frac{1}{2}\%", "12.5"),
    (r"10:30 \text{ a.m.}", "10:30"), ("A=5, B=3", "(5,3)"), (r"p=2,\ q=3", "(2,3)"), ("f(x)=2x+1", "f(x) = 1 + 2x"),
    (r"n \ge 3", r"[3,\infty)"), (r"x \in \{1,2\}", "1,2"), (r"\text{no}", r"\text{No}"),
    (r"\mathbb{R}", r"(-\infty,\infty)"), (r"13 \times 17", "221"), (r"\frac{\sqrt{2}}{2}", r"\frac{1}{\sqrt{2}}"),
    (r"1 \mathrm{~cm}", "1"), (r"5 \mathrm{~m/s}", "5"), (r"5\,\mathrm{km}/\mathrm{h}", "5"),
    (r"\pi/4 \text{ radians}", r"\frac{\pi}{4}"), (r"2\cdot 3^5", "486"), ("(2,3)", "x=2, y=3"),
    ("a=1,b=2", "b=2,a=1"), (r"2\sqrt{3} \approx 3.46", r"2\sqrt{3}"), (r"\approx 3.46", "3.46"),
    (r"\approx 2\sqrt{3}", r"2\sqrt3"), ("5.0", "5"), ("5.00", "5"), ("1/2", "0.5"), (r"50\%", "50"),
    ("3x+2y=7", "2y + 3x = 7"), ("3x+2y-7=0", "3x+2y=7"), (r"\text{A}", "A"), (r"\text{C, D, E}", "C, D, E"),
    ("(A)", r"\text{(A)}"), (r"\left[\frac{1}{2}, \infty\right)", r"[\frac12,\infty)"),
    (r"1,000,000 \text{ dollars}", "1000000"), (r"-\infty < x < 2", r"(-\infty, 2)"), ("x < 2", r"(-\infty, 2)"),
    (r"x<-1 \text{ or } x>1", r"(-\infty,-1) \cup (1,\infty)"),
    (r"(-\infty,-1) \cup (1,\infty)", r"x<-1 \text{ or } x>1"), ("|x| > 1", r"(-\infty,-1) \cup (1,\infty)"),
    (r"2n\pi, n \in \mathbb{Z}", r"2n\pi"), (r"\dfrac{\pi}{6}, \dfrac{5\pi}{6}", r"\frac{\pi}{6}, \frac{5\pi}{6}"),
    (r"30^\circ, 150^\circ", "30,150"), ("(x-2)(x+3)", "x^2+x-6"), ("x^2 + x - 6", "(x+3)(x-2)"),
    (r"6.02\times 10^{23}", "6.02e23"), (r"\frac{7}{2}", r"3\frac{1}{2}"), ("3 1/2", r"\frac72"), ("7/2", "3.5"),
    (r"\sqrt{12}", r"2\sqrt{3}"), (r"\sqrt[3]{8}", "2"), ("5!", "120"), (r"\binom{5}{2}", "10"),
    (r"0.1\dot{6}", r"\frac16"), (".5", "0.5"), (r"2 \text{ and } 3", r"\{2,3\}"), (r"\boxed{5}", "5"),
    (r"2, 3, \text{ and } 5", "2,3,5"), ("x=2,3", "2,3"), ("x_1 = 2, x_2 = 3", "2,3"),
    (r"x=1,\ y=2,\ z=3", "(1,2,3)"), ("(1,2,3)", "x=1,y=2,z=3"),
    (r"\vec{v} = \begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    (r"\mathbf{v} = \begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"), ("1011_2", "1011_{2}"),
    (r"1011_{\text{two}}", "1011_2"), (r"36 \text{ cm}^3", "36"), (r"\$36", "36"), ("36 USD", r"\$36"),
    ("2 hours 30 minutes", "2 hours 30 minutes"), (r"5 \text{ ft } 6 \text{ in}", r"5 \text{ ft } 6 \text{ in}"),
    ("2023", r"\text{2023}"), ("a^2 b", "b a^2"), (r"\log_{2}{3}", r"\frac{\ln 3}{\ln 2}"),
    (r"\tan^{-1}(2)", r"\arctan 2"), (r"\frac{1}{x^2}", "x^{-2}"), ("e^2", "e^{2}"), ("exp(2)", "e^2"),
    ("ln(2)", r"\ln 2"), ("log(2)", r"\log 2"), ("sin(x)", r"\sin x"), ("2*x", "2x"), ("2·x", "2x"), ("x^(2)", "x^2"),
    ("x^(n+1)", "x^{n+1}"), ("(x+1)/(x-1)", r"\frac{x+1}{x-1}"),
    ("((x+1)/(x-1))^2", r"\left(\frac{x+1}{x-1}\right)^2"),
    ("1+2+...+n", r"1+2+\ldots+n"), ("1,2,...", r"1, 2, \dots"),
    (r"1\,000", "1000"), (r"10,\!080", "10080"), ("10080", r"10,\!080"), ("10,080", r"10,\!080"),
    ("10{,}080", r"10,\!080"), ("10 080", "10080"), (r"\frac{12}{5525}", r"\frac{12}{5,\!525}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    (r"\begin{bmatrix}1\\2\end{bmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    (r"\left(\begin{array}{cc}1&2\\[2pt]3&4\end{array}\right)", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),
    (r"(2,12)\cup(12,102)", r"(2,12) \cup (12,102)"), (r"(2, 12) \cup (12, 102)", r"(2,12) \cup (12,102)"),
    ("[-36, 104]", "[-36,104]"), ("(3, 100)", "(3,100)"), ("(2, 251, 252)", "(2,251,252)"), ("3²", "9"),
    ("10⁵", "100000"), ("5 cm²", "5"), ("x²", "x^2"), ("½", r"\frac12"), ("3½", "3.5"), ("3½", r"\frac{7}{2}"),
    ("(x,y) = (3,4)", "(3,4)"), (r"x = 2 \text{ or } x = 3", "2, 3"), (r"x = 2 \text{ or } x = 3", "3, 2"),
    ("x = 3, y = 4", "(3,4)"), ("y = 4, x = 3", "(3,4)"), ("x = 3, y = 4", "3, 4"), ("x=2, x=-2", r"\pm 2"),
    (r"x = \pm 2", "-2, 2"), ("a+b = 5", "5"), (r"\angle ABC = 60^\circ", "60"),
    (r"\angle ABC = 60^\circ", r"60^\circ"), (r"S_{\triangle ABC}=8", "8"), ("G+J = 6", "6"), ("|AB| = 5", "5"),
    (r"\overline{AB} = 5", "5"), (r"\frac{dy}{dx} = 2x", "2x"), (r"\sin\theta = \frac12", r"\frac{1}{2}"),
    ("2 + 3 = 5", "5"), ("5 = x", "5"), ("(1 + √3) / 2", r"\frac{1+\sqrt{3}}{2}"),
    ("2 + sqrt(3), 2 - sqrt(3)", r"2 \pm \sqrt{3}"), ("4√2 + 8", r"8+4\sqrt{2}"), ("5 hours", r"5 \text{ hours}"),
    ("5", r"5 \text{ hours}"), ("5 h", r"5 \text{ hours}"), ("25_{6}", "25_6"), ("25", "25_6"),
    (r"\{x \mid -3 \leq x<1\}", r"\{x|-3\le x<1\}"), (r"\{x|-3\le x<1\}", "[-3,1)"),
    (r"mc^2(\gamma^2-1)", r"m c^2(\gamma^2-1)"), (r"mc^2(-1+\gamma^2)", r"m c^2(\gamma^2-1)"),
    ("pi/2", r"\frac{\pi}{2}"), ("2pi", r"2\pi"), ("60°", "60"), ("60°", r"60^\circ"), ("√2", r"\sqrt{2}"),
    ("∞", r"\infty"), ("2 < x < 3", "(2,3)"), (r"0.\overline{3}", r"\frac{1}{3}"), (r"0.1\overline{6}", r"\frac16"),
    ("1e-5", "0.00001"), ("1e-5", "10^{-5}"), ("1.2e5", "120000"), ("2e-5", "2e - 5"), ("$5$.", "5"), ("5", "$5$."),
    ("6t", "6 t"), ("6 m", "6"), (r"6\text{ m}", "6"), ("12 students", "12"), ("12", r"12\text{ students}"),
    ("5 square units", "5"), ("5 sq. cm", "5"), (r"5\text{ cm}^2", "5"), ("Monday", r"\text{Monday}"),
    (r"\text{monday}", "Monday"), ("even", r"\text{even}"), ("BA", "AB"), (r"\text{(A)}", "A"), ("A", r"\text{A}"),
    ("0.333333", r"\frac{1}{3}"), (r"\text{Area} = 12", "12"), (r"1 \text{ foot} = 12 \text{ inches}", "12"),
    (r"2\pi \approx 6.28", r"2\pi"), (r"2\pi \approx 6.28", "6.28"), (r"x \approx 3.14", "3.14"), ("3,100", "3100"),
    ("3,100", "3, 100"), ("1{,}000{,}000", "1000000"), (r"\{1, 2, 3\}", r"\{3,2,1\}"),
    (r"\left\{ 1, 2, 3 \right\}", r"\{3,2,1\}"), (r"\left( 1, 2 \right)", "(1,2)"), ("[1, 2)", "[1,2)"),
    (r"x \in [1,2)", "[1,2)"), (r"\dfrac{3}{4}", r"\frac34"), (r"-\frac{3}{4}", r"\frac{-3}{4}"),
    (r"\sqrt{3}\,/\,2", r"\frac{\sqrt3}{2}"), (r"\textbf{5}", "5"), (r"\mathbf{5}", "5"), ("**5**", "5"),
    (r"\(5\)", "5"), ("The answer is 5", "5"), ("y = 2x + 1", "y=2x+1"), ("2x+1", "y = 2x+1"),
    ("y = 1 + 2x", "y=2x+1"), ("5", "x=5"), ("(3,4)", "(x,y) = (3,4)"), ("x^2+y^2=4", "x^2 + y^2 = 4"),
    ("4 = x^2+y^2", "x^2 + y^2 = 4"), (r"x \le 2", r"(-\infty, 2]"), ("x<=2", r"x \le 2"), (r"10 \bmod 7", "3"),
    (r"x \equiv 3 \pmod 7", "3"), (r"3 \pmod{7}", "3"), (r"5\%", "5"), ("50 percent", r"50\%"), (r"\$5", "5"),
    (r"\$5.00", "5"), ("5 dollars", r"\$5"), ("2^{10}", "1024"), ("2**10", "1024"), ("2^10", "1024"),
    ("sqrt2", r"\sqrt{2}"), ("sqrt(2+sqrt(3))", r"\sqrt{2+\sqrt{3}}"), ("3sqrt(2)/2", r"\frac{3\sqrt{2}}{2}"),
    ("∛2", r"\sqrt[3]{2}"), ("x₁", "x_1"), ("α+β", r"\alpha+\beta"), ("2π/3", r"\frac{2\pi}{3}"),
    ("(−∞, 2]", r"(-\infty,2]"), ("(-∞,2)∪(3,∞)", r"(-\infty,2) \cup (3,\infty)"), ("x ≥ 3", r"x \ge 3"), ("３", "3"),
    ("3×10⁵", "300000"), ("25°C", "25"), ("1:2", "1:2"), ("11:30", r"11\!:\!30"),
    (r"\frac{1}{2}\text{ hour}", r"\frac12"), (r"\emptyset", r"\varnothing"), (r"\{\}", r"\emptyset"),
    ("no solution", r"\text{No solution}"),
    (r"\begin{pmatrix} 1/2 \\ 3 \\ \end{pmatrix}", r"\begin{pmatrix} \frac12 \\ 3 \end{pmatrix}"),
    (r"\frac{x+1}{2}", r"\frac12 x + \frac12"), (r"2\sqrt{2}+3", r"3+2\sqrt2"), (r"4\pi\text{ cm}^2", r"4\pi"),
    (r"4\pi", r"4\pi\text{ square inches}"), (r"3\text{ and }5", "3,5"), ("5+3i", "3i+5"), ("-5", "−5"), ("+5", "5"),
    ("f(x) = x^2", "x^2"), (r"f^{-1}(x) = \frac{x-1}{2}", r"\frac{x-1}{2}"), ("a_n = 2n+1", "2n+1"), ("n = 5", "5"),
    (r"m\angle A = 30^\circ", "30"), (r"\text{The area is } 12", "12"), (r"P(A) = \frac{1}{2}", "0.5"),
]  # fmt: skip
WRONG = [
    (r"\cos 60", r"\cos 60^\circ"), ("5 m", "5 cm"), ("5 h", r"5 \text{ min}"), ("x = 5 m", "5 cm"),
    ("5 m^3", r"5 \text{ m}^2"), ("5 million", "5"), ("5 dozen", "5"), ("5 squared", "5"), ("5 plus", "5"),
    ("4 fifths", "4"), ("2 thirds", "2"), (r"5 \pmod 7", r"5 \pmod 8"), (r"10 \pmod 3", "10"), ("1,000", "(1,0)"),
    ("1,000", "1, 0"), ("2,050", "(2,50)"), ("1,234,567", "(1,234,567)"), ("(6,5)", "x=5, y=6"),
    (r"\sqrt2 \approx 1.5", "1.5"), (r"5^\circ", r"5 \text{ m}"), ("1<x<3", "1, 3"),
    (r"\{x \mid 1<x<3\}", r"\{1,3\}"), ("|x|<2", r"\pm 2"), ("1,3", "1<x<3"), ("1<x<3", "x=1, y=3"),
    ("1<x<3", "(x,y)=(1,3)"), (r"x \ne 3", r"x \ne 2"), ("x>2", r"x \ne 2"), (r"5\text{0}", "5"),
    (r"5\text{ or 6}", "5"), (r"5\text{x}", "5"), (r"5\text{ million}", "5"), (r"\$50", r"50\text{ cents}"),
    (r"60\text{ mph}", r"60\text{ km/h}"), (r"100 \text{ g}", r"100 \text{ mg}"),
    (r"30^\circ\text{C}", r"30^\circ\text{F}"), (r"\gcd(m,n)", "1"), ("1:3:2", "1:2:3"), (r"\frac16", "1:2:3"),
    ("(y,x)=(3,4)", "(3,4)"), ("y=1, x=3", "(x,y)=(1,3)"),
    (r"\frac{2^{2023}+1}{2^{2023}}", r"\frac{2^{2023}-1}{2^{2023}}"),
    (r"30\text{ hours } 2\text{ minutes}", r"2\text{ hours } 30\text{ minutes}"),
    (r"3\text{ apples and } 2\text{ pears}", r"2\text{ apples and } 3\text{ pears}"), ("4530", r"45^\circ30'"),
    (r"45^\circ30''", r"45^\circ30'"), (r"5.5 \text{ km/s}", r"5.5 \text{ m/s}"),
    ("a=2,b=1", "b=2,a=1"), ("3x+2y=8", "3x+2y=7"), ("(x-2)(x+4)", "x^2+x-6"),
    (r"36 \text{ cm}^2", r"36 \text{ cm}^3"), (r"5 \text{ ft } 7 \text{ in}", r"5 \text{ ft } 6 \text{ in}"),
    ("(x+1)/(x-2)", r"\frac{x+1}{x-1}"),
    ("n+3", r"1+2+\cdots+n"), ("n+3", r"1+2+\ldots+n"), ("1, 2", r"1, 2, \ldots"),
    (r"\frac{14}{5,\!525}", r"\frac{12}{5,\!525}"),
    (r"\begin{pmatrix} -1 & 6 \\ 0 & -1 \end{pmatrix}", r"\begin{pmatrix} -1 & 0 \\ 0 & -1 \end{pmatrix}"),
    ("3100", "(3,100)"), ("2251252", "(2,251,252)"), ("3²", "32"), ("10⁵", "105"), ("x = 4, y = 3", "(3,4)"),
    ("1 = 5", "5"), ("1 = 2 = 5", "5"), ("x = 1 = 5", "5"), ("4 = x", "5"), ("1 = 5", "x = 5"), ("(1 + √3) / 2", "2"),
    ("2 + sqrt(3), 2 - sqrt(3)", "2"), ("4√2 + 8", "8"), ("9, 18, 27, 36, ...", "36"),
    (r"9, 18, 27, 36, \ldots", "36"), ("5 hours", "5 minutes"), ("25_3", "25_6"),
    (r"\{x|-3\le x<1\}", r"\{x|-2\le x<1\}"), (r"\frac{1}{2064!}", r"\frac{1}{2004!}"),
    (r"m c^2(\gamma^2-8)", r"m c^2(\gamma^2-1)"), ("-∞", r"\infty"), (r"2 < x \le 3", "(2,3)"),
    (r"0.\overline{3}", r"\frac{3}{10}"), ("6", "6t"), ("6s", "6t"), ("Mondya", "Monday"),
    (r"\text{Tuesday}", "Monday"), ("odd", r"\text{even}"), (r"\text{(B)}", "A"), ("0.00001234", "0.00001235"),
    ("10^{-20}", "10^{-21}"), ("0.33", r"\frac{1}{3}"), (r"5 \approx 6", "6"), (r"\{1, 2, 4\}", r"\{3,2,1\}"),
    ("(2,1)", "(1,2)"), ("[1, 2]", "[1,2)"), (r"-\dfrac{3}{4}", r"\frac34"), ("y = 2x + 2", "y=2x+1"),
    ("5", "2x+y = 5"), ("x^2+y^2=5", "x^2 + y^2 = 4"), (r"10 \bmod 7", "7"), (r"x \equiv 3 \pmod{7}", "7"),
    (r"\sqrt{-2} \approx 1.41", "1.41"), (r"10^{400} \approx 5", "5"), ("\u03ac", "\u03b1"),
    ("7 5", "12"), ("2 3 4", "9"), (r"10 \pmod 7", "3"), (r"5\%", "0.05"), (r"2\sqrt{2}-3", r"3+2\sqrt2"),
    (r"3\text{ and }5", "5"),
]  # fmt: skip


def verdict(answer: str, gold: str) -> str:
    return maths.judge(f"\\boxed{{{answer}}}", gold)[0]


# Words in \text, arguments without braces, units: a unit needs a number before it.
RIGHT_TOO = [
    (r"\text{A}, \text{B}", "A, B"), (r"\text{B}, \text{A}", r"\text{A}, \text{B}"), ("A, B", r"\text{A}, \text{B}"),
    (r"\text{A}, \text{B}, \text{C}", "A, B, C"), ("A, B, C", r"\text{A, B, C}"),
    ("True, False, True", r"\text{True, False, True}"),
    (r"\text{True}, \text{False}, \text{True}", r"\text{True, False, True}"), (r"\frac\pi3", r"\frac{\pi}{3}"),
    (r"\frac \pi 3", r"\frac{\pi}{3}"), (r"\frac\pi{3}", r"\frac{\pi}{3}"), (r"\dfrac\pi3", r"\frac{\pi}{3}"),
    (r"\frac x 2", r"\frac{x}{2}"), (r"\frac a b", r"\frac{a}{b}"), (r"\frac2\pi", r"\frac{2}{\pi}"),
    (r"\frac1\sqrt2", r"\frac{1}{\sqrt{2}}"), (r"\frac{x+1}y", r"\frac{x+1}{y}"),
    (r"\frac\alpha2", r"\frac{\alpha}{2}"), (r"\frac\sqrt32", r"\frac{\sqrt{3}}{2}"),
    (r"2^\frac12", r"2^{\frac{1}{2}}"), (r"x=\frac\pi6,\frac{5\pi}6", r"\frac{\pi}{6}, \frac{5\pi}{6}"),
    (r"\binom21", "2"), (r"\frac12", r"\frac{1}{2}"), (r"\frac1{72}", r"\frac{1}{72}"), (r"\frac 1 2", "0.5"),
    ("5 hertz", r"5\text{ Hz}"), (r"5\text{ km}", r"5\text{ km north}"),
    (r"\frac{\frac12}3", r"\frac{\frac{1}{2}}{3}"), ("12", r"12\text{ students}"), ("5", r"5 \text{ cm}"),
    (r"3\sqrt2", r"3\sqrt{2}\text{ cm}"), (r"\frac\pi2", r"\frac{\pi}{2}\text{ units}"),
]  # fmt: skip
WRONG_TOO = [
    (r"\text{A}, \text{C}", r"\text{A}, \text{B}"), (r"\text{I}, \text{II}", r"\text{I}, \text{III}"),
    (r"\text{B}, \text{C}, \text{E}", r"\text{B}, \text{C}, \text{D}"),
    (r"\text{Yes}; \text{Yes}", r"\text{Yes}; \text{No}"),
    (r"\text{True}, \text{True}", r"\text{True}, \text{False}"),
    (r"\text{red}, \text{green}", r"\text{red}, \text{blue}"), (r"\text{Plan}\ \text{B}", r"\text{Plan}\ \text{A}"),
    (r"\text{A} > \text{C}", r"\text{A} > \text{B}"), (r"\text{A}=\text{C}", r"\text{A}=\text{B}"),
    (r"\mathrm{A}, \mathrm{C}", r"\mathrm{A}, \mathrm{B}"),
    (r"\text{True, False, False}", r"\text{True, False, True}"), (r"5\text{ kHz}", r"5\text{ Hz}"),
    (r"5\text{ A}", r"5\text{ mA}"), (r"5\text{ mm}", r"5\text{ nm}"), (r"5\text{ km south}", r"5\text{ km north}"),
    (r"10\%\text{ decrease}", r"10\%\text{ increase}"), (r"20\text{ AD}", r"20\text{ BC}"), ("T, F, F", "T, F, T"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold"), RIGHT + RIGHT_TOO)
def test_an_answer_that_says_what_the_gold_says_is_correct(answer, gold):
    assert verdict(answer, gold) == "correct"


@pytest.mark.parametrize(("answer", "gold"), WRONG + WRONG_TOO)
def test_an_answer_that_says_something_else_is_wrong(answer, gold):
    assert verdict(answer, gold) == "wrong"


# ---- golds of a grammar ----

SLOW = {"tuples", "intervals", "unions", "sets", "lists", "matrices", "polynomials", "equations", "radicals"}
SLOW |= {"by cases", "exponentials"}
GOLDS = {name: 80 if name in SLOW else 570 for name in CLASSES}  # so 23,000 pairs


@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CLASSES)
def test_every_rewriting_is_correct_and_every_change_is_wrong(name, share):
    """Of each gold two harmless rewritings, and a third with one digit, sign or letter changed."""
    missed, accepted = [], []
    for seed in range(round(share * GOLDS[name])):
        form, rng = drawn(name, seed), random.Random(seed)
        gold = form.write(None)
        for answer in (around(form.write(rng), form, rng) for _ in range(2)):
            missed += [(answer, gold)] * (verdict(answer, gold) != "correct")
        answer = changed(form.write(rng), rng)
        accepted += [(answer, gold)] * (verdict(answer, gold) == "correct")
    assert not missed and not accepted


# ---- golds that cannot be read ----


@pytest.mark.parametrize("gold", ["", "$$", " ", "{}", "see solution", "proof", "n/a", "NaN", "?", "5" * 2001])
def test_a_gold_that_says_nothing_is_an_error(gold):
    with pytest.raises(VerifierError, match="gold"):
        maths.check_gold(gold)


@pytest.mark.parametrize("gold", ["5", "$5$.", r"\frac12", r"\text{no solution}", r"\{x | x > 2\}", "A"])
def test_a_gold_that_says_something_is_none(gold):
    maths.check_gold(gold)
