"""TRITON_INTERPRET=1 with arrays on a GPU: the CPU executor runs on copies, which go back after."""
import contextlib


@contextlib.contextmanager
def of(values):
    """The values, tensors on a GPU as tensors in host memory; what the kernel wrote is copied back.
    Tensors that share memory share it in the copy."""
    storages, out = {}, {}
    for name, v in values.items():
        out[name] = _on_host(v, storages) if getattr(v, "is_cuda", False) else v
    yield out
    for original, copy in storages.values():
        original.copy_(copy)


def _on_host(v, storages):
    import torch
    storage = v.untyped_storage()
    _, copy = storages.setdefault(storage.data_ptr(), (storage, None))
    if copy is None:
        copy = storage.cpu()
        storages[storage.data_ptr()] = storage, copy
    made = torch.empty(0, dtype=v.dtype)
    return made.set_(copy, v.storage_offset(), v.size(), v.stride())
