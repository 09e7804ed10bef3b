"""How are numbers and names shown, and how is a stranger's JSON read?"""
