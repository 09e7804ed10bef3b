"""Where do the trials come from?"""
