"""Format numbers for the screen. explorer/static/shared/runtime/format.js has the same functions for the browser;
tests/number_format.json holds the cases that both must pass.
"""

from __future__ import annotations

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: float, digits: int = 2) -> str:
    """Return a number with that many decimals, a true minus and no negative zero; "–" for NaN."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return f"{value:z.{digits}f}".replace("-", "−")


def format_signed(value: float, digits: int = 2) -> str:
    """Return a number as `format_number` does, with a plus if it is positive as printed."""
    text = format_number(value, digits)
    return f"+{text}" if value > 0 and text.strip("0.") else text


def format_count(value: float) -> str:
    """Return a whole number with thousands separators."""
    return f"{value:z,.0f}".replace("-", "−")


def format_units(count: int, unit: str) -> str:
    """Return a count with its unit in the singular or plural: 1 token, 2,048 tokens."""
    return f"{format_count(count)} {unit}{'' if count == 1 else 's'}"


def format_approximate(value: float) -> str:
    """Return a positive number with one decimal below ten, and as a whole number from there on."""
    return format_number(value, 1) if value < 9.95 else format_count(value)


def format_rounded(value: float) -> str:
    """Return a number with few digits; a whole one without decimals, a tiny one as a power of ten.
    As many decimals are added as show that a number is not whole: 99.98 is not 100.
    """
    size = abs(value)
    if value and size < 1e-3:
        return format_scientific(value)
    if abs(value - round(value)) < 1e-6 * max(1.0, size):  # a whole number in single precision
        return format_count(value)
    digits = 1 if size >= 10 else 2
    while digits < 4 and float(f"{value:.{digits}f}").is_integer():
        digits += 1
    return f"{value:,.{digits}f}".replace("-", "−")


def superscript(power: int) -> str:
    """Return a whole number in raised digits."""
    return str(power).translate(_SUPERSCRIPTS)


def format_scientific(value: float, digits: int = 1) -> str:
    """Return a number with that many significant digits and a power of ten: 4 × 10⁻¹⁷, and 10⁻³ for one 1."""
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = f"10{superscript(int(exponent))}"
    if mantissa in ("1", "-1"):
        return "−" * (value < 0) + power
    return f"{mantissa.replace('-', '−')}\u00a0×\u00a0{power}"  # non-breaking spaces


def format_significant(value: float) -> str:
    """Return a number with two significant digits from 0.01 to 1,000, elsewhere with one and a power of ten."""
    if value == 0 or not math.isfinite(value):
        return format_number(value, 0)
    if 0.01 <= abs(value) < 1_000:
        return f"{float(f'{value:.2g}'):g}".replace("-", "−")
    return format_scientific(value)


def format_percent(share: float, digits: int = 1) -> str:
    """Return a share from 0 to 1 in percent; one above 0 never becomes 0: "< 0.1 %"."""
    if math.isnan(share):
        return "–"
    least = 10**-digits
    text = f"< {least:.{digits}f}" if 0 < 100 * share < least / 2 else format_number(100 * share, digits)
    return f"{text}\u00a0%"


def format_probability(p: float, digits: int = 2) -> str:
    """Return a probability that a model gives; since a softmax is never 0 or 1, it is never printed as 0 or 1."""
    least = 10**-digits
    if p < least / 2:
        return f"<{least:.{digits}f}"
    return f">{1 - least:.{digits}f}" if p >= 1 - least / 2 else format_number(p, digits)


def join_range(low: str, high: str) -> str:
    """Return two printed numbers as a range, or one of them if they are the same."""
    return low if low == high else f"{low} to {high}"


def format_range(low: float, high: float, digits: int = 2) -> str:
    """Return “0.12 to 0.34”, or one number if both look the same."""
    return join_range(format_number(low, digits), format_number(high, digits))


def format_interval(middle: float, low: float, high: float, digits: int = 2) -> str:
    """Return a mean or median with its interval: 0.20 (0.12 to 0.34); without one whose ends look the same."""
    text, interval = format_number(middle, digits), format_range(low, high, digits)
    return f"{text} ({interval})" if " " in interval else text


def format_duration(seconds: float) -> str:
    """Return a time with the unit that fits: s, min or h."""
    if seconds < 90:
        return f"{format_approximate(seconds)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.0f} h"


def format_bytes(count: int) -> str:
    """Return a size in megabytes, or in gigabytes from 1 GB on."""
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"
