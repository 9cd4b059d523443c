"""Why a fact is predicted: rules, groundings, drawings."""
