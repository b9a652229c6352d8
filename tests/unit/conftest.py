"""Settings of property tests: examples have no time limit, so that slow machines pass too."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "starcast", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("starcast")
