"""From ranks to metrics, intervals and tests."""
