r"""Units of measure: 9.8 \mathrm{m\,s^{-2}} is 9.8 and a unit, with its size and its dimension.

Two units of one dimension compare by size: 500 g is 0.5 kg, and 5 mmol is not 5 mol. `_KNOWN` has the units' names in
several languages, `_COUNTED` the words after a number that say nothing. docs/grading.md has a row per decision.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

# ---- the units ----

# A line is a unit, its definition (empty for a base unit), and its names. `*` after a name: any ending of it.
_KNOWN = """
s  | | sec second sekunde* segundo* secondo secondi seconde* сек с секунд* 秒 秒钟 秒間 초
min | 60 s | minute minut* minuut minuto* мин минут* 分 分钟 分鐘 分間 분
h | 3600 s | hr hour stunde* heure* hora* ora ore uur uren godzin* ч час* 小时 小時 时 時間 時 시간
day | 24 h | tag tage tagen jour* día* dia* giorno giorni dag dagen дн день дня дней 天 日 日間 일
week | 7 day | woche* semaine* semana* settiman* недел* 周 星期 週間 주
month | | monat* mois mes meses mese mesi месяц* 月 个月 個月 ヶ月 개월
year | | yr jahr* année* an ans año* ano anos anno anni год года лет 年 岁 歳 年間 년 살
m | | meter metre metro metri mètre* м метр* 米 公尺 メートル 미터
inch | 254/10000 m | in inches zoll pouce* pulgada* дюйм* 英寸 インチ 인치
foot | 12 inch | ft feet pied pieds pies fuß фут* 英尺 フィート 피트
yard | 3 foot | yd ярд* 码 ヤード
mile | 1760 yard | mi meile* milla* миль миля мили 英里 マイル 마일
里 | 500 m |
尺 | |
Å | 1/10000000000 m | angstrom ångström AA
nauticalmile | 1852 m | nmi
lightyear | | ly
g | | gram gramm* gramme* gramo* grammo grammi gm г гр грамм* 克 グラム 그램
kg | 1000 g | 公斤 кг
斤 | 500 g |
t | 1000000 g | ton tonne* tonn* т тонн* 吨 噸 トン 톤
lb | | pound lbs фунт* 磅
oz | 1/16 lb | ounce
L | 1/1000 m^3 | l liter litre litro* litri л литр* 升 公升 リットル 리터
mL | 1/1000 L | 毫升 мл ml
gal | | gallon 加仑
qt | 1/4 gal | quart
pt | 1/8 gal | pint
cup | 1/16 gal |
acre | |
ha | 10000 m^2 | hectare hektar* га 公顷 ヘクタール
亩 | | mu
A | | amp ampere* ampère* А ампер* 安 安培 アンペア
K | | kelvin
mol | | mole моль 摩尔 モル
cd | | candela
N | kg*m/s^2 | newton Н 牛 牛顿 ニュートン
J | N*m | joule Дж 焦 焦耳 ジュール
W | J/s | watt Вт ватт* 瓦 瓦特 ワット
Pa | N/m^2 | pascal Па 帕 帕斯卡
Hz | 1/s | hertz Гц 赫兹 ヘルツ
C | A*s | coulomb 库仑
V | W/A | volt В 伏 伏特 ボルト
F | C/V | farad
Ω | V/A | ohm Ом 欧 欧姆 オーム
H | V*s/A | henry
Wb | V*s | weber
T | Wb/m^2 | tesla
S | A/V | siemens
M | mol/L | molar
eV | | electronvolt
cal | | calorie* 卡
Wh | 3600 J | watthour
bar | 100000 Pa |
atm | 101325 Pa | atmosphere*
torr | | Torr mmHg
psi | |
mph | mile/h |
km | 1000 m | 公里
km/h | 1000/3600 m/s | kph kmh kmph
knot | | kn
dB | | decibel
bit | | bits
B | 8 bit | byte*
rpm | |
Bq | | becquerel
Sv | | sievert
Gy | | gray
dioptre | | diopter
degree | | deg градус* grad 度 도
radian | | rad радиан* 弧度
celsius | | °C ℃ 摄氏度
fahrenheit | | °F ℉ 华氏度
dollar | | usd USD dollars доллар* dólar* 美元 ドル 달러
cent | 1/100 dollar | ¢ 美分 セント
euro | | eur EUR евро 欧元 ユーロ 유로
sterling | | GBP 英镑 ポンド
penny | 1/100 sterling | pence
yen | | JPY 日元 円
yuan | | RMB CNY 元 块 圆 人民币 юань юаней юаня
角 | 1/10 yuan |
rupee | | rs Rs INR
ruble | | руб рубль рублей рубля RUB
won | | 원 KRW
franc | | CHF
peso | |
real | | reais BRL
unit | | 单位 單位 單位長 단위 einheit* единиц* unidad* unité*
dozen | |
am | | AM 上午
pm | | PM 下午
ad | | AD CE
bc | | BC BCE
"""
# Units that take prefixes, and the prefixes with their powers of ten, by the way of writing.
_METRIC = (
    ("s m g L l A K mol cd N J W Pa Hz C V F Ω H Wb T S M eV cal Wh bar bit B Bq Sv Gy t ton",
     "P15 T12 G9 M6 k3 d-1 c-2 m-3 µ-6 μ-6 u-6 n-9 p-12 f-15"),
    ("second meter metre gram liter litre joule watt newton pascal hertz volt amp ampere mole ohm farad byte "
     "electronvolt calorie gramm mètre metro gramme gramo litro sekunde",
     "peta15 tera12 giga9 mega6 kilo3 quilo3 chilo3 deci-1 dezi-1 centi-2 zenti-2 milli-3 mili-3 micro-6 mikro-6 "
     "nano-9 pico-12"),
    ("м г л с моль Вт Па Гц Дж Н В Ом А", "Г9 М6 к3 д-1 с-2 м-3 мк-6 н-9"),
    ("метр грамм литр секунд ватт", "гига9 мега6 кило3 деци-1 санти-2 милли-3 микро-6 нано-9"),
    ("米 克 升 秒 瓦 帕 赫兹 牛 焦 伏 安 摩尔", "兆6 千3 分-1 厘-2 毫-3 微-6 纳-9"),
    ("メートル グラム リットル ワット 秒", "メガ6 キロ3 デシ-1 センチ-2 ミリ-3 マイクロ-6"),
    ("미터 그램 리터", "킬로3 센티-2 밀리-3"),
)  # fmt: skip
_SQUARES = {"sq": 2, "quadrat": 2, "平方": 2, "кв": 2, "cu": 3, "kubik": 3, "立方": 3, "куб": 3}
_SQUARE = re.compile(
    "(?:square|sq|cubic|cu)$|平方|立方|(?:quadrat|kubik)(?=[a-z])|(?:кв|куб)(?:адратн|ическ)?(?:[а-я]{1,2})?$"
)
_RAISED = {"squared": 2, "cubed": 3, "carré": 2, "carrés": 2, "cube": 3, "cubes": 3, "cuadrado": 2, "cuadrados": 2}
# Words that count, or remark: 12 in total, 3 times as many, 12个.
_COUNTS = """
in total exactly approximately altogether about only of the a an each times x per number numbers way ways value values
个 個 つ 人 名 位 只 隻 条 本 支 张 張 次 回 种 種 棵 辆 台 件 页 题 題 组 层 株 头 匹 份 袋 箱 盒 瓶 杯 朵 排 步 遍 部
套 对 双 颗 粒 根 座 道 倍 枚 冊 軒 개 명 번 마리 권 장 대 가지 шт штук раз раза stück fois veces mal volte
"""
_COUNTED = frozenset(_COUNTS.split())
# Words that compute, or say something else.
_COMPUTES = """
sin cos tan log ln exp mod and or if is for where when all any not to plus minus none half halves third thirds quarter
quarters fourths fifths sixths sevenths eighths ninths tenths hundredths thousandths dozen lakh crore squared cubed
factorial incorrect included pi infinity times over divided hundred thousand million billion trillion wrong false
except without otherwise between because since which
"""
_NO_UNITS = frozenset(_COMPUTES.split())


class Unit(NamedTuple):
    """A unit's size in base units, and its base units with their powers; or, of an unknown unit, its words."""

    size: Fraction
    bases: tuple[tuple[str, int], ...]
    words: frozenset[str] = frozenset()


def _product(factors: list[tuple[Unit, int]]) -> Unit:
    size, powers = Fraction(1), dict[str, int]()
    for unit, power in factors:
        size *= unit.size**power
        for base, exponent in unit.bases:
            powers[base] = powers.get(base, 0) + exponent * power
    return Unit(size, tuple(sorted((base, power) for base, power in powers.items() if power)))


@cache
def _units() -> tuple[dict[str, Unit], dict[str, Unit]]:
    """The units by their whole names, and by the beginnings of names."""
    units: dict[str, Unit] = {}
    stems: dict[str, Unit] = {}
    for line in filter(None, _KNOWN.split("\n")):
        symbol, definition, names = (part.strip() for part in line.split("|"))
        unit = _defined(definition, units) if definition else Unit(Fraction(1), ((symbol, 1),))
        units[symbol] = unit
        for name in names.split():
            (stems if name.endswith("*") else units)[name.rstrip("*")] = unit
    for symbols, prefixes in _METRIC:
        for symbol in symbols.split():
            unit = units.get(symbol) or stems[symbol]
            for prefix, power in re.findall(r"(\D+?)(-?\d+) ?", prefixes):
                units.setdefault(prefix + symbol, unit._replace(size=unit.size * Fraction(10) ** int(power)))
    return units, stems


def _defined(definition: str, units: dict[str, Unit]) -> Unit:
    """The unit of a definition such as `1000/3600 m/s^2`."""
    size, _, rest = definition.rpartition(" ")
    factors, sign = [(Unit(Fraction(size or 1), ()), 1)], 1
    for mark, name, power in re.findall(r"([*/]?)([^\W\d]+)(?:\^(\d))?", rest):
        sign = -1 if mark == "/" else 1
        factors.append((units[name], sign * int(power or 1)))
    if rest.startswith("1/"):
        factors[-1] = (factors[-1][0], -1)
    return _product(factors)


def _known(word: str) -> Unit | None:
    """The unit of that name; None if it is unknown."""
    units, stems = _units()
    for name in (word, word.lower(), word.lower().removesuffix("s")):
        if name in units and (len(word) > 2 or name == word or word.lower() in units):
            return units[name]
    lower = word.lower()
    if len(word) > 3 or not word.isascii():
        for end in range(len(lower), 2 + word.isascii(), -1):
            if lower[:end] in stems and len(lower) - end <= 4:
                return stems[lower[:end]]
    return None


# ---- a label: the text behind a number ----

_PER = re.compile(r"\b(?:per|pro|por|par)\b|每|毎|(?<=[a-z]) an? (?=[a-z])")
_FACTOR = re.compile(
    r"(?P<word>[^\W\d_]+|°[CF]|[℃℉¢])\.?(?:\s*\^\s*\{?\s*(?P<power>-?\d)\s*\}?)?|(?P<sign>[/()·*])|(?P<other>\S)"
)


def _unit(label: str) -> Unit | None:
    """The unit of a label such as `m s^-2`, `J/(mol K)`, `square inches`, 千米每小时; None if it has none.

    Words around a unit say no more: square inches of paper.
    """
    factors: list[tuple[Unit, int]] = []
    sign, bracket, scale = 1, 1, 1  # the sign of the next factor's power, of a bracket's, and a word such as `square`
    for factor in _FACTOR.finditer(_PER.sub("/", label)):
        word, mark = (factor["word"] or ""), factor["sign"]
        if factor["other"]:
            return None
        if mark:
            bracket = sign if mark == "(" else 1 if mark == ")" else bracket
            sign = -1 if mark == "/" else bracket
            continue
        if word.lower() in _RAISED and factors:
            factors[-1] = factors[-1][0], factors[-1][1] * _RAISED[word.lower()]
            continue
        start = _SQUARE.match(word.lower())
        power = next((n for key, n in _SQUARES.items() if start and start.group().startswith(key)), 1)
        scale, word = (power, word[start.end() :]) if start else (scale, word)
        unit = _known(word) if word else None
        if unit is not None:
            factors.append((unit, sign * scale * int(factor["power"] or 1)))
            sign, scale = bracket, 1
        elif word and factors:
            break
    return _product(factors) if factors else None


_WORD = re.compile(r"[^\W\d_]+")


def read(label: str) -> Unit | None:
    """The unit of a label; of an unknown one its words, without those that only count. None if it is no label."""
    words = _WORD.findall(label)
    unit = _unit(label)
    if unit is not None or _NO_UNITS & {word.lower() for word in words}:
        return unit if not _NO_UNITS & {word.lower() for word in words} else None
    if re.sub(r"[^\W\d_]+|[\s().,/°-]", "", label) or any(len(w) == 1 and w.isascii() and w.islower() for w in words):
        return None
    kept = {word.lower().removesuffix("s") for word in words} - _COUNTED
    return Unit(Fraction(1), (), frozenset(kept))


def ratio(one: Unit, other: Unit) -> Fraction | None:
    """How many of the other unit one is; None if they measure different things.

    Of two unknown units, all words of one are words of the other.
    """
    if one.bases != other.bases or (one.words and other.words and not _share(one.words, other.words)):
        return None
    return one.size / other.size


def _share(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether the words of one are among those of the other, up to endings as in яблок, яблока."""
    few, many = sorted((one, other), key=len)
    return all(any(a == b or (len(min(a, b, key=len)) > 3 and a[:4] == b[:4]) for b in many) for a in few)


# Words after a number that say another thing than their opposite.
_OPPOSED = re.compile(
    r"\b(north|south|east|west|left|right|up|down|above|below|increase|decrease|increasing|decreasing|profit|loss|gain|"
    r"even|odd|clockwise|counterclockwise|anticlockwise)\b|(盈利|亏损|增加|减少|上升|下降|东|西|南|北|奇数|偶数)",
    re.IGNORECASE,
)


def directions(text: str) -> list[str]:
    """The words of an answer whose opposite would change it: south, loss."""
    return sorted((latin or chinese).lower() for latin, chinese in _OPPOSED.findall(text))


# ---- an answer and its unit ----

_WRAPPED = r"\\(?:text|mathrm|mbox|textrm|textit|textbf|operatorname|rm)\s*\{(?P<inside>(?:[^{}]|\{[^{}]*\})*)\}"
_TOKEN = re.compile(
    rf"(?P<text>{_WRAPPED})|(?P<symbol>\\(?:mu|Omega|ohm|micro|AA|angstrom)(?![a-zA-Z]))"
    r"|(?P<letters>[^\W\d_]+|[℃℉¢])|(?P<joint>\\cdot(?![a-zA-Z])|[/()*.\s]|\^\s*(?:\{\s*-?\d\s*\}|-?\d))"
    r"|(?P<other>\\[a-zA-Z]*|.)",
    re.DOTALL,
)
_COMMAND = re.compile(r"\\(?!(?:text|mathrm|mbox|textrm|textit|textbf|operatorname|rm)(?![a-zA-Z]))([a-zA-Z]+) ?")
_SYMBOLS = {"mu": "µ", "micro": "µ", "Omega": "Ω", "ohm": "Ω", "AA": "Å", "angstrom": "Å", "cdot": "·"}
_ENDS_A_NUMBER = re.compile(r"(?:[\d})\]|!]|\\pi|\\infty)\s*\Z")
_ENDS_A_TERM = re.compile(r"(?:[\w})\]|!']|\\[a-zA-Z]+)\s*\Z")
_ANY_WORD = re.compile(_WRAPPED.replace("?P<inside>", ""))


def measure(text: str) -> tuple[str, Unit | None]:
    r"""An answer without its unit, and the unit: 5 \text{ hours} gives 5 and 3600 s; (text, None) without one.

    Letters beside a number without \text are a unit if they are a known name of at least two letters or, after a space,
    words of at least three: 6t and 2ab are products.
    """
    for start, bare in _starts(text):
        body, label = text[:start].strip(), text[start:]
        if not any(c.isdigit() or c == "\\" for c in _ANY_WORD.sub("", body)):
            continue  # a unit needs a number before it: words are none
        if not (_ENDS_A_NUMBER if bare else _ENDS_A_TERM).search(body):
            continue
        written = _flat(label)
        unit = read(written)
        if unit is None or (bare and not _is_unit(written, unit, text[start - 1 : start].isspace())):
            continue
        return body, unit
    return text, None


def _starts(text: str) -> Iterator[tuple[int, bool]]:
    """Where a label may start, the longest label first, and whether it starts with letters outside of \text."""
    starts: list[tuple[int, bool]] = []
    for token in _TOKEN.finditer(text):
        inside = token["inside"]
        if token["other"] or (inside is not None and re.search(r"(?<![\^\-{])\d|[=<>,]", inside)):
            starts = []
        elif inside is not None or token["symbol"] or token["letters"]:
            starts.append((token.start(), bool(token["letters"])))
    return iter(starts[:6])


def _flat(label: str) -> str:
    r"""A label without \text and commands: \text{k}\Omega as kΩ."""
    label = _COMMAND.sub(lambda name: _SYMBOLS.get(name.group(1), " "), label)
    while (inner := re.sub(_WRAPPED, r"\g<inside>", label)) != label:
        label = inner
    return label.strip(" .")


def _is_unit(label: str, unit: Unit, apart: bool) -> bool:
    r"""Whether letters without \text are a unit, and no product of variables."""
    words = _WORD.findall(label)
    if not label.isascii():
        return True
    if unit.bases and (len(words[-1]) > 1 or "/" in label) and (_known(words[0]) or len(words[0]) > 1):
        return True
    return apart and all(len(word) > 2 or word in _COUNTED for word in words)


_VARIABLES = re.compile(r"(?![sghmlLKNJWAV](?![a-zA-Z]))[a-zA-Z](?![a-zA-Z])")  # single letters that are rarely units


def letters_as_unit(text: str) -> tuple[str, Unit | None]:
    """An answer with the letters after its number read as a unit: 6 m gives 6, metre. `measure` reads a product."""
    match = re.fullmatch(r"(?P<body>.*\d)\s*(?P<unit>[a-zA-Z]{1,2}(?:\^\{?[23]\}?)?)", text)
    unit = _unit(match["unit"]) if match and not _VARIABLES.match(match["unit"]) else None
    return (match["body"].strip(), unit) if match and unit else (text, None)


_QUANTITY = re.compile(
    r"\s*(?P<number>-?\d+(?:\.\d+)?)\s*(?:\\text\s*\{\s*(?P<text>[^\W\d_](?:[^\d{}]*?[^\W\d_])??\.?)\s*(?:,?\s*and\s*|,\s*)?\}"
    r"|(?P<word>[^\W\d_]+))\s*(?:,|\\text\s*\{\s*and\s*\}|and\b)?"
)


def quantities(text: str) -> list[tuple[str, Unit]]:
    r"""Numbers with their units, if an answer has several, such as 2 \text{ h } 30 \text{ min}; else empty."""
    pairs, place = [], 0
    while place < len(text):
        part = _QUANTITY.match(text, place)
        unit = read(part["text"] or part["word"]) if part else None
        if not part or unit is None or (part["word"] and not unit.bases):
            return []
        pairs.append((part["number"], unit))
        place = part.end()
    return pairs if len(pairs) > 1 else []


def total(amounts: list[tuple[str, Unit]]) -> tuple[Fraction, Unit] | None:
    """The sum of quantities of one dimension in base units, as of 2 h 30 min; None if they measure different things."""
    first = amounts[0][1]
    if not first.bases or any(unit.bases != first.bases for _, unit in amounts):
        return None
    return sum((Fraction(number) * unit.size for number, unit in amounts), Fraction()), first._replace(size=Fraction(1))
