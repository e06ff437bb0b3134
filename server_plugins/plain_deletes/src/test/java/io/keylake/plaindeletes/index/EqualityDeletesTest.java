package io.keylake.plaindeletes.index;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Groups of delete files, and what they say of rows beside Iceberg's generic reader. */
class EqualityDeletesTest {
  private static final Schema SCHEMA =
      new Schema(
          NestedField.optional(1, "id", Types.LongType.get()),
          NestedField.optional(2, "name", Types.StringType.get()),
          NestedField.optional(3, "part", Types.IntegerType.get()),
          NestedField.optional(4, "amount", Types.DecimalType.of(9, 2)));
  private static final List<Integer[]> FIELDS =
      List.of(new Integer[] {1}, new Integer[] {2}, new Integer[] {1, 2}, new Integer[] {4, 1});

  @TempDir Path directory;

  private static Record row(Random random, Schema schema) {
    GenericRecord row = GenericRecord.create(schema);
    for (NestedField field : schema.columns()) {
      if (random.nextInt(8) > 0) {
        int small = random.nextInt(6);
        row.setField(
            field.name(),
            switch (field.type().typeId()) {
              case LONG -> (Object) (long) small;
              case STRING -> "n" + small;
              case INTEGER -> small % 2;
              default -> BigDecimal.valueOf(small, 2);
            });
      }
    }
    return row;
  }

  private static List<Record> rows(Random random, Schema schema) {
    int count = 1 + random.nextInt(8);
    return IntStream.range(0, count).mapToObj(i -> row(random, schema)).toList();
  }

  private static void change(Random random, DeletesTable made) throws IOException {
    switch (random.nextInt(9)) {
      case 0 -> {
        if (made.table.spec().isUnpartitioned()) {
          made.table.updateSpec().addField("part").commit();
        } else {
          made.table.updateSpec().removeField("part").commit();
        }
      }
      case 1 -> {
        String name = "c" + made.table.schema().columns().size();
        made.table.updateSchema().addColumn(name, Types.IntegerType.get()).commit();
      }
      case 2, 3, 4 -> append(made, rows(random, made.table.schema()));
      default -> {
        RowDelta delta = made.table.newRowDelta();
        for (int i = random.nextInt(3); i >= 0; i--) {
          Integer[] fields = FIELDS.get(random.nextInt(FIELDS.size()));
          delta.addDeletes(
              made.deletes(made.table.spec(), rows(random, made.table.schema()), fields));
        }
        delta.commit();
      }
    }
  }

  private static void append(DeletesTable made, List<Record> rows) throws IOException {
    Map<Object, List<Record>> byPartition = new LinkedHashMap<>();
    for (Record row : rows) {
      byPartition
          .computeIfAbsent(String.valueOf(row.getField("part")), any -> new ArrayList<>())
          .add(row);
    }
    for (List<Record> some : byPartition.values()) {
      made.table.newAppend().appendFile(made.data(some)).commit();
    }
  }

  private static List<String> sorted(CloseableIterable<Record> rows) throws IOException {
    try (rows) {
      List<String> all = new ArrayList<>();
      rows.forEach(row -> all.add(row.toString()));
      all.sort(null);
      return all;
    }
  }

  /** The rows of the files of a plan that its groups leave. */
  private List<String> left(DeletesTable made, EqualityDeletes planned) throws IOException {
    StoredDeletes stored = new StoredDeletes(file -> made.table.io().newInputFile(file));
    List<DeleteIndex> indexes = new ArrayList<>();
    for (DeleteGroup group : planned.groups()) {
      indexes.add(DeleteIndex.load(group, stored, DeletesTable.UNLIMITED, directory));
    }
    Schema schema = made.table.schema();
    List<String> left = new ArrayList<>();
    for (PlannedFile file : planned.files()) {
      assertEquals(List.of(), file.task().deletes());
      InternalRecordWrapper internal = new InternalRecordWrapper(schema.asStruct());
      try (CloseableIterable<Record> rows =
          FormatModelRegistry.<Record, Object>readBuilder(
                  FileFormat.AVRO, Record.class, made.table.io().newInputFile(file.task().file()))
              .project(schema)
              .build()) {
        for (Record row : rows) {
          StructLike values = internal.wrap(row);
          boolean isDeleted =
              file.groups().stream()
                  .anyMatch(
                      number ->
                          indexes
                              .get(number)
                              .deletes(
                                  new StructKeys(planned.groups().get(number), schema.columns())
                                      .of(values),
                                  file.sequenceNumber()));
          if (!isDeleted) {
            left.add(row.toString());
          }
        }
      }
    }
    indexes.forEach(DeleteIndex::close);
    left.sort(null);
    return left;
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 4, 11})
  void rowsAreDeletedAsIcebergsReaderSays(long seed) throws IOException {
    Random random = new Random(seed);
    PartitionSpec spec =
        random.nextBoolean()
            ? PartitionSpec.unpartitioned()
            : PartitionSpec.builderFor(SCHEMA).identity("part").build();
    DeletesTable made = new DeletesTable(SCHEMA, spec, 2 + random.nextInt(2));
    append(made, rows(random, SCHEMA));
    for (int i = 0; i < 15; i++) {
      change(random, made);
      if (i % 5 == 4) {
        assertEquals(sorted(IcebergGenerics.read(made.table).build()), left(made, made.planned()));
      }
    }
  }

  @Test
  void filesOfAPartitionShareAGroup() throws IOException {
    PartitionSpec spec = PartitionSpec.builderFor(SCHEMA).identity("part").build();
    DeletesTable made = new DeletesTable(SCHEMA, spec, 2);
    Record zero = GenericRecord.create(SCHEMA).copy(Map.of("id", 1L, "part", 0));
    Record one = GenericRecord.create(SCHEMA).copy(Map.of("id", 1L, "part", 1));
    for (Record row : List.of(zero, one, zero, one)) {
      append(made, List.of(row));
    }
    for (Record row : List.of(zero, one, zero)) {
      DeleteFile delete = made.deletes(spec, List.of(row), 1);
      made.table.newRowDelta().addDeletes(delete).commit();
    }
    append(made, List.of(zero));
    EqualityDeletes planned = made.planned();
    assertEquals(
        Set.of(1, 2),
        planned.groups().stream().map(group -> group.files().size()).collect(Collectors.toSet()));
    List<List<Integer>> groups = planned.files().stream().map(PlannedFile::groups).toList();
    assertEquals(
        List.of(List.of(), List.of(0), List.of(0), List.of(1), List.of(1)),
        groups,
        "files of a group lie side by side");
    assertEquals(
        5,
        new TreeSet<>(planned.files().stream().map(file -> file.task().file().location()).toList())
            .size());
    made.table.updateSpec().removeField("part").commit();
    made.table.newRowDelta().addDeletes(made.deletes(made.table.spec(), List.of(zero), 2)).commit();
    EqualityDeletes withGlobal = made.planned();
    assertEquals(3, withGlobal.groups().size());
    assertTrue(withGlobal.files().stream().allMatch(file -> file.groups().get(0) == 0));
  }

  @Test
  void whatCannotBeIndexedIsLeftToIceberg() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), 2);
    Record row = GenericRecord.create(SCHEMA).copy(Map.of("id", 1L, "name", "n"));
    append(made, List.of(row));
    made.table
        .newRowDelta()
        .addDeletes(made.deletes(made.table.spec(), List.of(row), 1))
        .addDeletes(made.deletes(made.table.spec(), List.of(row), 2))
        .commit();
    made.table.updateSchema().deleteColumn("name").commit();
    EqualityDeletes planned = made.planned();
    assertEquals(1, planned.groups().size());
    PlannedFile file = planned.files().get(0);
    assertEquals(List.of(2), file.task().deletes().get(0).equalityFieldIds());
    assertEquals(List.of(0), file.groups());
  }

  @Test
  void aFileThatIsMissingIsNamed() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), 2);
    Record row = GenericRecord.create(SCHEMA).copy(Map.of("id", 1L));
    append(made, List.of(row));
    DeleteFile delete = made.deletes(made.table.spec(), List.of(row), 1);
    made.table.newRowDelta().addDeletes(delete).commit();
    EqualityDeletes planned = made.planned();
    made.table.io().deleteFile(delete.location());
    KeylakeException error = assertThrows(KeylakeException.class, () -> left(made, planned));
    assertTrue(error.getMessage().contains(delete.location()), error.getMessage());
  }
}
