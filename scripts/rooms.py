"""What the CMakeLists.txt of a room says."""
import re


def public_headers(listing):
    """The HEADERS of freeflow_room(...)."""
    listing = re.sub(r"#.*", "", listing)
    call = re.search(r"freeflow_room\(\s*\w+\s+HEADERS\s+([^)]*)\)", listing)
    return re.split(r"\s(?:SOURCES|CUDA|LINK)\s", call[1])[0].split() if call else []
