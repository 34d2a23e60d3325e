// Devices and their memory at one moment, as plain values. Numbers that the
// driver does not give are unset, never 0.
#ifndef MEMPLAN_PLANNER_ADMISSION_DEVICE_H_
#define MEMPLAN_PLANNER_ADMISSION_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "planner/base/bytes.h"

namespace memplan {

struct DeviceProcess {
  int64_t pid = 0;  // in the host's numbering
  std::string name;
  std::optional<Bytes> used;
  bool residual = false;  // it has ended, and its memory is still counted
};

struct Device {
  std::string id;  // `GPU-…` or `cpu`
  bool is_cpu = false;
  std::string display_name;
  std::optional<Bytes> total;
  std::optional<Bytes> driver_reserve;
  std::optional<Bytes> used;
  std::optional<Bytes> free;
  std::optional<Bytes> unattributed;
  std::vector<DeviceProcess> processes;  // the largest first
  std::string pci_bus_id;
  std::optional<int32_t> nvml_index;    // nvidia-smi's order
  std::optional<int32_t> cuda_index;    // with CUDA_DEVICE_ORDER=PCI_BUS_ID
  std::optional<int32_t> minor_number;  // /dev/nvidiaN
  std::string parent_id;        // of a MIG instance: the GPU it is a part of
  bool is_partitioned = false;  // a GPU whose MIG instances are devices
  std::string driver_version;
  std::string read_error;   // empty if the last reading succeeded
  int64_t snapshot_id = 0;  // goes up with every reading; 0: never read
  // When the last reading ended; unset if none has.
  std::optional<absl::Time> sample_time;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_DEVICE_H_
