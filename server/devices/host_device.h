// The host's memory as the device `cpu`.
#ifndef MEMPLAN_SERVER_DEVICES_HOST_DEVICE_H_
#define MEMPLAN_SERVER_DEVICES_HOST_DEVICE_H_

#include "planner/admission/device.h"
#include "server/devices/device_source.h"

namespace memplan {

// Where a source lists it.
DevicePlace HostPlace();

// With a read_error if the host does not say how much memory it has.
Device ReadHostAsDevice();

}  // namespace memplan

#endif  // MEMPLAN_SERVER_DEVICES_HOST_DEVICE_H_
