# SPDX-License-Identifier: Apache-2.0
"""The sources that the churn programs make: generation, file, names and lines all say which."""

MODULE = '''
def leaf_{g}(until_ns):
    number = 1
    while clock() < until_ns:
        number = number * 31 % 1000003
    return number


def mid_{g}(until_ns):
{padding}    number = leaf_{g}(until_ns)  # call: leaf_{g}
    return number


def top_{g}(until_ns):  # from: library
    number = mid_{g}(until_ns)  # call: mid_{g}
    return number
'''


def module(g):
    """Functions of different sizes, so that what is made anew lands on what was freed."""
    return "\n" * (g * 7 % 997) + MODULE.format(g=g, padding="    until_ns += 1\n" * (g % 5))


def lambdas(g):
    return "\n" * (g * 7 % 97) + "lambda until_ns: spin(until_ns)  # call: spin from: library" + "\n" * (g % 3)


# What a file's name begins with -> the source of its generation, which ends the name.
KINDS = {"churn-module-": module, "churn-lambda-": lambdas}


def kind_and_generation(file):
    """(what makes its source, generation) of a file that a program made, else None."""
    for prefix, make in KINDS.items():
        if file.startswith(prefix) and file[len(prefix):].isdigit():
            return make, int(file[len(prefix):])
    return None


def source_of(file):
    """The source of a file that a program made, or None for other files."""
    found = kind_and_generation(file)
    return found and found[0](found[1])


def generation_of(file):
    found = kind_and_generation(file)
    return found and found[1]
