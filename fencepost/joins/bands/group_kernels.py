"""Cutting intervals into groups, and finding a group for more of them, compiled."""

from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def cut(low, high, order, group, witnesses):
    """Cut intervals, in the order of their lows, into groups; give how many there are.

    A group goes on while all of it have a point in common. The interval that ends a group, the one
    with the least high, is its witness: the next group begins above it, so witnesses are apart from
    each other, and no partition has fewer groups than there are of them.
    """
    groups, least = 0, 0.0
    for k in range(len(order)):
        row = order[k]
        if groups == 0 or low[row] > least:
            groups += 1
        elif high[row] >= least:
            group[row] = groups - 1
            continue
        least = high[row]
        witnesses[groups - 1] = row
        group[row] = groups - 1
    return groups


@njit(cache=True, nogil=True, error_model="numpy")
def join(added, cores, ends, many, group, apart):
    """Find a group for each of some intervals, O(groups + witnesses) each; give both numbers then.

    `many` has how many there are. `cores` are what the intervals of each group have in common,
    `ends` those of the witnesses, with room for more of both. An interval joins the first group
    whose core it meets, and narrows it; else it is a group of its own. Apart from all witnesses it
    becomes one more, and `apart`.
    """
    low, high = added
    groups, witnesses = many
    for k in range(len(low)):
        group[k] = groups
        for g in range(groups):
            if low[k] <= cores[1, g] and high[k] >= cores[0, g]:
                group[k] = g
                break
        g = group[k]
        if g == groups:
            cores[0, g], cores[1, g] = low[k], high[k]
            groups += 1
        else:
            cores[0, g], cores[1, g] = max(cores[0, g], low[k]), min(cores[1, g], high[k])
        apart[k] = True
        for w in range(witnesses):
            if low[k] <= ends[1, w] and high[k] >= ends[0, w]:
                apart[k] = False
                break
        if apart[k]:
            ends[0, witnesses], ends[1, witnesses] = low[k], high[k]
            witnesses += 1
    return groups, witnesses
