"""The numbers of which the papers' statements speak, as they write them; independent of `starcast.costs` and of every array."""

from fractions import Fraction

from starcast.claims.growth import EXACT, Number, divided, factorial, harmonic, rounded_up


def diameter(n: int) -> int:
    """D_n = floor(3(n-1)/2), of S_n; exact for every n."""
    return 3 * (n - 1) // 2


def multiple_height(n: int) -> int:
    """D_n + n + g - 2, g the greatest proper divisor of n: the greatest of the heights in Lemma 5 of Tseng & Sheu 1997."""
    least = next(
        (d for d in range(2, 64) if n % d == 0), n
    )  # of a huge n, a power of two; else one that can be built
    return diameter(n) + n + n // least - 2


def nk_diameter(n: int, k: int) -> int:
    """D of S_{n,k}: 2k-1 for k <= floor(n/2), k + floor((n-1)/2) above (Li et al., section 2)."""
    return 2 * k - 1 if k <= n // 2 else k + (n - 1) // 2


def distance_sum(n: int) -> Number:
    """t_n = n!(n + 2/n + H_n - 4), the sum of all distances from a node of S_n; exact up to n = 60 (Fragopoulou & Akl 1993)."""
    value = (
        factorial(n) * (n + Fraction(2, n) + harmonic(n) - 4)
        if n <= EXACT
        else factorial(n) * (n + harmonic(n) - 4)
    )
    return int(value) if n <= EXACT else value


def even_share(n: int) -> Number:
    """ceil((n!-1)/(n-1)): what each of the n-1 links of a node of S_n has of all other nodes, if they are shared evenly."""
    return rounded_up(divided(factorial(n) - 1, n - 1))


def arrangements(n: int, k: int) -> Number:
    """N = n!/(n-k)!, the nodes of S_{n,k}; exact for small n."""
    if n <= EXACT:
        return factorial(n) // factorial(n - k)
    return factorial(n) / factorial(n - k)
