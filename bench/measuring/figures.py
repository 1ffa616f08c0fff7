"""Cost against size and against the number of contexts, both axes by powers of ten."""


def draw(timed, curves, path):
    """Write the picture; False without P1, or where matplotlib is not installed."""
    if not curves:
        return False
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot as plt
    except ImportError:
        return False
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    for method in dict.fromkeys(t.method for t in timed):
        own = [t for t in timed if t.method == method and t.case.startswith("P1(")]
        own.sort(key=lambda t: t.size)
        left.plot(
            [t.size for t in own], [1e6 * t.cost for t in own], "o-", label=method
        )
    for method, points in curves.items():
        right.plot(*zip(*[(n, s) for n, s in points], strict=True), "o-", label=method)
    left.set(xlabel="assets of P1", ylabel="CPU us a context", title="Size")
    right.set(xlabel="contexts of a call", ylabel="CPU s", title="Contexts, P1(50)")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)
    return True
