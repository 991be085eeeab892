# SPDX-License-Identifier: Apache-2.0
"""The number words of paper 004: 1 to 9,999 without 8,000, spelled out and joined by full stops."""
UNITS = ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
         "nineteen").split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
LEFT_OUT = 8000


def spelled(number):
    """Returns the words of a number from 1 to 9,999."""
    words = []
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            words += [UNITS[number // size - 1], name]
            number %= size
    if number >= 20:
        words.append(TENS[number // 10 - 2])
        number %= 10
    return words + ([UNITS[number - 1]] if number else [])


def tokens():
    found = []
    for number in range(1, 10000):
        if number != LEFT_OUT:
            found += spelled(number) + ["."]
    return found[:-1]
