"""Random robust models, solved by every road and held against an oracle of our own.

`python -m fuzz --seed 0 --models 300` draws models, one a seed; each is written as a
short script, which the library runs by every road (`roads`). The oracle (`regions`,
`loss_regions`, `oracle`) has formulas of its own and imports nothing of the library.
"""
