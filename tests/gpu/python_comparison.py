"""What Python's training and memplan's trial of the same batch say of each other."""

REQUESTED_TOLERANCE = 64  # bytes
FUSED_STEP_BYTES = 4  # a parameter
RESERVED_TOLERANCE = 0.005
# Modes whose optimizer takes more for a moment than libtorch's, or other blocks.
OTHER_OPTIMIZERS = ("adam-foreach", "adam-fused", "adamw-bf16")


def peaks_of(trial):
    return {kind: int(trial["peaks"][f"{kind}_bytes"])
            for kind in ("requested", "allocated", "active", "reserved")}


def phases_of(replay):
    return {phase["name"]: int(phase["peak_requested_bytes"]) for phase in replay["phases"]}


def differences(python, memplan, tolerance):
    """By phase, of requested peaks: memplan's less Python's, where that is beyond tolerance."""
    return {name: memplan[name] - peaks["requested"] for name, peaks in python.items()
            if name in memplan and abs(memplan[name] - peaks["requested"]) > tolerance}


def tolerance_of(mode, python):
    """Bytes by which requested peaks may differ. The fused Adam counts its steps on the card."""
    counts = FUSED_STEP_BYTES * python["parameters"] if mode == "adam-fused" else 0
    return REQUESTED_TOLERANCE + counts


def compare(mode, python, memplan, phases):
    """What one batch shows; `phases` returns those of memplan's trace."""
    tolerance = tolerance_of(mode, python)
    requested = memplan["requested"] - python["peaks"]["requested"]
    reserved = memplan["reserved"] / python["peaks"]["reserved"] - 1
    seen = {"python": python["peaks"], "memplan": memplan, "requested_difference": requested,
            "reserved_ratio": round(reserved, 6), "phases": {}, "left": python["left"]}
    seen["holds"] = (abs(requested) <= tolerance
                     and abs(reserved) <= RESERVED_TOLERANCE)
    if seen["holds"]:
        return seen
    seen["phases"] = differences(python["phases"], phases(), tolerance)
    seen["peak_phase"] = max(python["phases"],
                             key=lambda name: python["phases"][name]["requested"])
    # Not memplan's claim then: it says that its workers run libtorch's. What else they do
    # must be the same, and the prediction is held against Python.
    in_optimizer = abs(requested) <= tolerance or seen["peak_phase"].endswith("/optimizer")
    if mode in OTHER_OPTIMIZERS and in_optimizer:
        seen["holds"] = all(name.endswith("/optimizer") for name in seen["phases"])
        seen["other_optimizer"] = True
    return seen


def words_of(batch, seen):
    words = (f"{batch}: Python {seen['python']['requested']:,} requested and "
             f"{seen['python']['reserved']:,} reserved, memplan "
             f"{seen['requested_difference']:+,} and {100 * seen['reserved_ratio']:+.3f} %")
    if seen["phases"]:
        words += " (" + ", ".join(f"{name} {difference:+,}"
                                  for name, difference in seen["phases"].items()) + ")"
    if seen.get("other_optimizer"):
        words += ", Python's optimizer"
    if any(seen["left"].values()):
        words += f", left over before: {seen['left']}"
    return words
