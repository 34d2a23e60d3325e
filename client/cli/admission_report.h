// Judgements and reservations for people, and the code a verdict exits with.
#ifndef MEMPLAN_CLIENT_CLI_ADMISSION_REPORT_H_
#define MEMPLAN_CLIENT_CLI_ADMISSION_REPORT_H_

#include <string>

#include "client/errors.h"
#include "memplan/v1/admission_service.pb.h"
#include "memplan/v1/device_service.pb.h"

namespace memplan {

// kExitDone for FITS, else kExitNotNow, kExitNever, kExitUnknown.
ExitCode ExitCodeFor(v1::Verdict verdict);

std::string VerdictWords(v1::Verdict verdict);  // fits, not now, …

// A line for each amount that is known, then the holders.
std::string JudgementReport(const v1::Judgement& judgement);

// The same for a reservation; with its token if it is there.
std::string ReservationReport(const v1::Reservation& reservation);

// A row a reservation.
std::string ReservationTable(const v1::ListReservationsResponse& reservations);

// A row a device with what is used and promised, below it the processes that hold
// memory there, and the reservations.
std::string TopReport(const v1::ListDevicesResponse& devices,
                      const v1::ListReservationsResponse& reservations);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_ADMISSION_REPORT_H_
