package io.keylake.plaindeletes.work;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;

/** Remembers the files that are begun, as writers that fail do not say which they were. */
final class WrittenFiles implements FileIO {
  private static final long serialVersionUID = 1L;

  private final FileIO io;
  private final ArrayList<String> locations = new ArrayList<>();

  WrittenFiles(FileIO io) {
    this.io = io;
  }

  List<String> locations() {
    return List.copyOf(locations);
  }

  @Override
  public InputFile newInputFile(String location) {
    return io.newInputFile(location);
  }

  @Override
  public OutputFile newOutputFile(String location) {
    locations.add(location);
    return io.newOutputFile(location);
  }

  @Override
  public void deleteFile(String location) {
    io.deleteFile(location);
  }

  @Override
  public Map<String, String> properties() {
    return io.properties();
  }
}
