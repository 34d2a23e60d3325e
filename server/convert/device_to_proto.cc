#include "server/convert/device_to_proto.h"

#include "server/convert/times.h"

namespace memplan {

v1::Device ToProto(const Device& device) {
  v1::Device proto;
  proto.set_id(device.id);
  proto.set_kind(device.is_cpu ? v1::DEVICE_KIND_CPU : v1::DEVICE_KIND_CUDA);
  proto.set_display_name(device.display_name);
  if (device.total) proto.set_total_bytes(device.total->count());
  if (device.driver_reserve) {
    proto.set_driver_reserve_bytes(device.driver_reserve->count());
  }
  if (device.used) proto.set_used_bytes(device.used->count());
  if (device.free) proto.set_free_bytes(device.free->count());
  if (device.unattributed) {
    proto.set_unattributed_bytes(device.unattributed->count());
  }
  for (const DeviceProcess& process : device.processes) {
    v1::DeviceProcess* added = proto.add_processes();
    added->set_pid(process.pid);
    added->set_name(process.name);
    if (process.used) added->set_used_bytes(process.used->count());
    added->set_residual(process.residual);
  }
  proto.set_pci_bus_id(device.pci_bus_id);
  if (device.nvml_index) proto.set_nvml_index(*device.nvml_index);
  if (device.cuda_index) proto.set_cuda_index(*device.cuda_index);
  if (device.minor_number) proto.set_minor_number(*device.minor_number);
  proto.set_parent_id(device.parent_id);
  proto.set_is_partitioned(device.is_partitioned);
  proto.set_driver_version(device.driver_version);
  proto.set_snapshot_id(device.snapshot_id);
  if (device.sample_time) {
    *proto.mutable_sample_time() =
        ToTimestamp(absl::ToChronoTime(*device.sample_time));
  }
  proto.set_read_error(device.read_error);
  return proto;
}

}  // namespace memplan
