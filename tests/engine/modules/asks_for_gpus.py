"""Looks for GPUs as it is imported, as modules of torch do."""

import os

VISIBLE = os.environ["CUDA_VISIBLE_DEVICES"]
