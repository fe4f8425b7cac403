"""Results shown: figures come in, tables on a terminal, pages and charts come out.

Tasks and jobs call it once they have measured.
"""
