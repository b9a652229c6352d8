"""Closed forms of the papers, independent of `starcast.costs` and of every array."""

from fractions import Fraction

from starcast.claims.growth import EXACT, Number, divided, factorial, harmonic, rounded_up


def diameter(n: int) -> int:
    """Return D_n = floor(3(n-1)/2), the diameter of S_n."""
    return 3 * (n - 1) // 2


def multiple_height(n: int) -> int:
    """Return D_n + n + g - 2, where g is the largest proper divisor of n.

    This is the largest of the heights in Lemma 5 of Tseng & Sheu 1997.
    """
    # A huge n is a power of two, and any other n is small enough to be built.
    least_divisor = next((d for d in range(2, 64) if n % d == 0), n)
    return diameter(n) + n + n // least_divisor - 2


def nk_diameter(n: int, k: int) -> int:
    """Return the diameter of S_{n,k}: 2k-1 for k <= floor(n/2), k + floor((n-1)/2) above.

    Li, Chen, Xiang & Yao, section 2.
    """
    return 2 * k - 1 if k <= n // 2 else k + (n - 1) // 2


def distance_sum(n: int) -> Number:
    """Return t_n = n!(n + 2/n + H_n - 4), the sum of all distances from a node of S_n.

    Exact up to n = 60. Fragopoulou & Akl 1993.
    """
    if n > EXACT:
        return factorial(n) * (n + harmonic(n) - 4)
    return int(factorial(n) * (n + Fraction(2, n) + harmonic(n) - 4))


def even_share(n: int) -> Number:
    """Return ceil((n!-1)/(n-1)): the share of each of n-1 links in all other nodes of S_n."""
    return rounded_up(divided(factorial(n) - 1, n - 1))


def arrangements(n: int, k: int) -> Number:
    """Return N = n!/(n-k)!, the number of nodes of S_{n,k}; exact up to n = 60."""
    if n <= EXACT:
        return factorial(n) // factorial(n - k)
    return factorial(n) / factorial(n - k)
