"""
Double descent with random features
===================================

A model that can only just fit its noisy training set predicts worst. Smaller models are better, and
so are much larger ones: past the point where the training error becomes 0, the test error falls
again. The worst model is also the one with the largest weights. A ridge penalty removes the peak of
the test error.
"""

# %%
# From 5 to 640 features
# ----------------------
# The model is a network with one hidden layer of ReLU units, whose weights are random and stay as
# they are. The outputs of these units are the features. Only the last layer is fitted, by least
# squares: ``pinv`` gives the solution, and the shortest one where there are many. There are 40
# samples with noise in their targets; the test compares with targets without noise. Every number of
# features is tried on 20 data sets.

import matplotlib.pyplot as plt
import torch

from claimbook.teach.plots import legend, log_ticks

SAMPLES, SETS = 40, 20
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

x = torch.randn(SETS, SAMPLES + 300, 5)
clean = x.sum(2, keepdim=True)
noisy = clean[:, :SAMPLES] + torch.randn(SETS, SAMPLES, 1)
features = (x @ torch.randn(SETS, 5, 640)).relu()


def fit(width, ridge=0.0):
    """Return for each data set: training error, test error and norm of the weights."""
    seen, unseen = features[:, :SAMPLES, :width], features[:, SAMPLES:, :width]
    # A ridge penalty is least squares with more rows: root of ridge times identity, and zeros.
    penalty = (ridge**0.5 * torch.eye(width)).expand(SETS, width, width)
    rows = torch.cat([seen, penalty], dim=1) if ridge else seen
    w = torch.linalg.pinv(rows)[:, :, :SAMPLES] @ noisy
    train = (seen @ w - noisy).square().mean((1, 2))
    test = (unseen @ w - clean[:, SAMPLES:]).square().mean((1, 2))
    return train, test, w.norm(dim=(1, 2))


widths = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 80, 120, 160, 320, 640]
train, test, norms = map(torch.stack, zip(*map(fit, widths), strict=True))
few, just, many = map(widths.index, (10, SAMPLES, 640))
error, norm = test.median(1).values, norms.median(1).values

# %%
# From 40 features on, as many as there are samples, the training error is 0. At 40 features the
# median test error has its peak: it is over ten times that of 10 features, and over ten times that
# of 640.

assert train[just:].max() < 1e-9 < train[:just].min(), "from 40 features on the fit is perfect"
assert error.argmax() == just, "the test error's peak is there"
assert error[just] > 10 * error[few], "far above a smaller model's"
assert error[just] > 10 * error[many], "and far above a larger one's"

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
fig.suptitle("The test error peaks where the model can just fit the training set")
fig.set_label("The test error falls, peaks at 40 features and falls; training error ends at 40.")
low, high = test.quantile(0.1, dim=1), test.quantile(0.9, dim=1)
axes.fill_between(widths, low, high, color="C1", alpha=0.3, label="eight of ten data sets")
axes.plot(widths, error, "C1s--", label="test, median")
axes.plot(widths[:just], train.median(1).values[:just], "C0o-", label="training, median")
axes.axvline(SAMPLES, color=plt.rcParams["text.color"], ls=":", lw=1)
axes.set(xlabel="features", ylabel="mean squared error", yscale="log")
log_ticks(axes, x=[5, 10, 20, 40, 80, 160, 320, 640])
legend(fig)
plt.show()

# %%
# The weights tell why
# --------------------
# At 40 features there is only one solution that fits. It must pass through every noisy target,
# however large the weights that this takes. With more features there are many solutions, and the
# shortest of them gets shorter. A ridge penalty makes large weights costly at every number of
# features, and there is no peak left.

ridge_widths = [5, 10, 20, 30, 40, 50, 80, 160]
ridge_error = torch.stack([fit(width, ridge=5.0)[1].median() for width in ridge_widths])
assert norm.argmax() == just, "the weights are largest at the peak"
assert norm[just] > 10 * norm[many], "and far smaller with many features"
at_peak = ridge_error[ridge_widths.index(SAMPLES)]
assert at_peak < error[just] / 20, "with the penalty the peak is gone"
assert at_peak < 2 * ridge_error.min(), "that size is about as good as any"

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
fig.suptitle("The peak comes from huge weights, and a penalty on them removes it")
fig.set_label("The norm peaks at 40 features as the error does; the ridge curve has no peak.")
left.plot(widths, norm, "C2^-.", label="least squares, least norm")
left.set(title="norm of the weights", xlabel="features")
right.plot(widths, error, "C1s--", label="test error, least squares")
right.plot(ridge_widths, ridge_error, "C3D:", label="test error, ridge")
right.set(title="test error", xlabel="features", yscale="log")
for axes in left, right:
    axes.axvline(SAMPLES, color=plt.rcParams["text.color"], ls=":", lw=1)
    log_ticks(axes, x=[10, 40, 160, 640])
log_ticks(left, y=[2, 5, 10, 20, 50])
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * The worst size of a model fitted without regularisation is the one that can only just fit the
#   data.
# * Beyond that size the fit stays perfect, the weights shrink, and the test error falls again.
# * With a large enough ridge penalty there is no peak.
#
# The chapter :doc:`/optimisation/double-descent` answers the questions around this one. Related
# statements:
#
# * :claim:`peak-at-the-threshold-then-descent`
# * :claim:`ridge-removes-the-peak`
# * :claim:`more-features-allow-a-smaller-norm`
