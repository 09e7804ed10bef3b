"""How are records read, streamed, encoded and written?"""
