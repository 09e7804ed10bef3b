"""Which values were random by design, and how do they look to a model among other draws?"""
