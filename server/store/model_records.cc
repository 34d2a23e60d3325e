#include "server/store/model_records.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include <utility>

#include "server/store/time_stamp.h"

namespace memplan {
namespace {

void RemoveFrom(SQLite::Database& connection, const char* statement,
                const std::string& sha256) {
  SQLite::Statement remove(connection, statement);
  remove.bind(1, sha256);
  remove.exec();
}

void RemovePart(SQLite::Database& connection, const std::string& sha256) {
  RemoveFrom(connection, "DELETE FROM parts WHERE sha256 = ?", sha256);
}

// The columns that both tables begin with.
Model ReadRow(SQLite::Statement& query) {
  Model model;
  model.sha256 = query.getColumn(0).getString();
  model.display_name = query.getColumn(1).getString();
  model.size_bytes = query.getColumn(2).getInt64();
  model.create_time = TimeFromNanoseconds(query.getColumn(3).getInt64());
  return model;
}

void BindRow(SQLite::Statement& insert, const Model& model) {
  insert.bind(1, model.sha256);
  insert.bind(2, model.display_name);
  insert.bind(3, model.size_bytes);
  insert.bind(4, NanosecondsOf(model.create_time));
}

}  // namespace

absl::StatusOr<std::vector<Model>> ModelRecords::ReadModels() {
  std::vector<Model> models;
  const absl::Status status =
      database_.Run("read the models", [&](SQLite::Database& connection) {
        SQLite::Statement query(
            connection,
            "SELECT sha256, display_name, size_bytes, create_time_ns, "
            "last_use_time_ns FROM models");
        while (query.executeStep()) {
          Model model = ReadRow(query);
          model.committed_bytes = model.size_bytes;
          model.last_use_time =
              TimeFromNanoseconds(query.getColumn(4).getInt64());
          models.push_back(std::move(model));
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return models;
}

absl::StatusOr<std::vector<Model>> ModelRecords::ReadParts() {
  std::vector<Model> parts;
  const absl::Status status =
      database_.Run("read the parts", [&](SQLite::Database& connection) {
        SQLite::Statement query(
            connection,
            "SELECT sha256, display_name, total_bytes, create_time_ns "
            "FROM parts");
        while (query.executeStep()) {
          parts.push_back(ReadRow(query));
          parts.back().state = ModelState::kUploading;
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return parts;
}

absl::Status ModelRecords::WritePart(const Model& part) {
  return database_.Run("save a part", [&](SQLite::Database& connection) {
    SQLite::Statement insert(connection,
                             "INSERT OR REPLACE INTO parts (sha256, "
                             "display_name, total_bytes, create_time_ns) "
                             "VALUES (?, ?, ?, ?)");
    BindRow(insert, part);
    insert.exec();
    return absl::OkStatus();
  });
}

absl::Status ModelRecords::WriteModel(const Model& model) {
  return database_.Run("save a model", [&](SQLite::Database& connection) {
    SQLite::Statement insert(connection,
                             "INSERT INTO models (sha256, display_name, "
                             "size_bytes, create_time_ns, last_use_time_ns) "
                             "VALUES (?, ?, ?, ?, ?)");
    BindRow(insert, model);
    insert.bind(5, NanosecondsOf(model.last_use_time));
    insert.exec();
    RemovePart(connection, model.sha256);
    return absl::OkStatus();
  });
}

absl::Status ModelRecords::Remove(const std::string& sha256) {
  return database_.Run("delete a model", [&](SQLite::Database& connection) {
    RemoveFrom(connection, "DELETE FROM models WHERE sha256 = ?", sha256);
    RemovePart(connection, sha256);
    return absl::OkStatus();
  });
}

absl::Status ModelRecords::WriteLastUses(const std::vector<Model>& models) {
  if (models.empty()) return absl::OkStatus();
  return database_.Run(
      "save when models were used", [&](SQLite::Database& connection) {
        SQLite::Statement update(
            connection,
            "UPDATE models SET last_use_time_ns = ? WHERE sha256 = ?");
        for (const Model& model : models) {
          update.bind(1, NanosecondsOf(model.last_use_time));
          update.bind(2, model.sha256);
          update.exec();
          update.reset();
        }
        return absl::OkStatus();
      });
}

}  // namespace memplan
