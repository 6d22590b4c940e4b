"""The QR code of the address of a class."""

from __future__ import annotations

from explorer.ui.classroom import classroom_card


def test_a_qr_code_has_its_quiet_zone_and_only_dark_modules() -> None:
    code = classroom_card._qr_code("http://example.org/?class=ABCDE")
    size, path = code["size"], str(code["path"])
    modules = [tuple(map(int, part.split("h")[0].split())) for part in path.split("M")[1:]]
    assert min(map(min, modules)) == 4 and max(map(max, modules)) == int(str(size)) - 5
    finder = {(x, y) for x, y in modules if x < 11 and y < 11}
    assert {(4 + i, 4) for i in range(7)} <= finder and (5, 5) not in finder and (7, 7) in finder
