"""Features of a network as channels, inside a torch pipeline; on a GPU nothing leaves it (needs torch).

Any network of your own gives (channels, i, j, k); here it is a filter bank: smoothed intensity and edges.

    python torch_features.py [cpu|cuda]
"""

import sys

from phantom import AFFINE_RAS, dice, subject

import freeflow

try:
    import torch
except ImportError:
    sys.exit("skipped: torch is not installed")  # nothing of FreeFlow needs it

device = sys.argv[1] if len(sys.argv) > 1 else "cuda" if "cuda:0" in freeflow.available_devices() else "cpu"


class Features(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.smooth = torch.nn.Conv3d(1, 1, 3, padding=1, bias=False)
        torch.nn.init.constant_(self.smooth.weight, 1 / 27)

    def forward(self, image):
        smooth = self.smooth(image[None, None])[0, 0]
        edges = torch.stack(torch.gradient(smooth)).norm(dim=0)
        return torch.stack([smooth, edges])


network = Features().to(device)
images, labels = zip(subject(7), subject(8))
tensors = [torch.as_tensor(i.numpy(), device=device).contiguous() for i in images]
with torch.no_grad():
    fixed, moving = (freeflow.Image.channels(network(t), AFFINE_RAS) for t in tensors)

result = freeflow.register(fixed, moving, channel_weights=[1, 0.5])  # on torch's device and current stream
warped = result.transform.apply(freeflow.Image(tensors[1], AFFINE_RAS))
assert isinstance(warped.array, torch.Tensor) and warped.array.device == tensors[1].device

carried = result.transform.apply(freeflow.Image(torch.as_tensor(labels[1].numpy(), device=device), AFFINE_RAS))
print(f"on {warped.array.device}: Dice of the ventricles {dice(labels[0], labels[1], 3):.3f} -> {dice(labels[0], carried, 3):.3f}")
print("mean difference", float((warped.array - tensors[0]).abs().mean()))  # a loss like any other: torch goes on from here
