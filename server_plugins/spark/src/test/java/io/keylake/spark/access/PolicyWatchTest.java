package io.keylake.spark.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.hash.Hashing;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PolicyWatchTest {
  private static final String BOTH =
      "principals: {ana: {token_sha256: %s}, ben: {token_sha256: %s}}\n"
          .formatted(digest("a"), digest("b"));
  private static final String ONLY_BEN =
      "principals: {ben: {token_sha256: %s}}\n".formatted(digest("b"));

  @TempDir Path folder;
  private Path file;

  @BeforeEach
  void name() {
    file = folder.resolve("policy.yaml");
  }

  private static String digest(String token) {
    return Hashing.sha256().hashString(token, StandardCharsets.UTF_8).toString();
  }

  /** A file that nobody has written to for a while. */
  private static void write(Path file, String text) throws IOException {
    Files.writeString(file, text);
    Files.setLastModifiedTime(file, FileTime.from(Instant.now().minusSeconds(60)));
  }

  private static Optional<String> principal(PolicyWatch watch, String token) {
    return watch.now().policy().principal(token);
  }

  @Test
  void aChangedFileIsTaken() throws IOException {
    write(file, BOTH);
    PolicyWatch watch = new PolicyWatch(file);
    String seal = watch.now().seals().of("ben");
    assertEquals(Optional.of("ana"), principal(watch, "a"));
    write(file, ONLY_BEN);
    watch.look();
    assertEquals(Optional.empty(), principal(watch, "a"));
    assertEquals("", watch.now().seals().of("ana"));
    assertEquals(seal, watch.now().seals().of("ben"), "sessions of others stay theirs");
  }

  @Test
  void aFileThatIsBeingWrittenIsNotTakenYet() throws IOException {
    write(file, BOTH);
    PolicyWatch watch = new PolicyWatch(file);
    Files.writeString(file, ONLY_BEN);
    for (int ahead : new int[] {0, 3600}) { // the clock of a store may be another
      Files.setLastModifiedTime(file, FileTime.from(Instant.now().plusSeconds(ahead)));
      watch.look();
      assertEquals(Optional.of("ana"), principal(watch, "a"));
      assertFalse(watch.isRefused());
    }
    write(file, ONLY_BEN);
    watch.look();
    assertEquals(Optional.empty(), principal(watch, "a"));
  }

  @Test
  void aRefusedFileChangesNothing() throws IOException {
    write(file, BOTH);
    PolicyWatch watch = new PolicyWatch(file);
    PolicyWatch.Access before = watch.now();
    for (String broken : new String[] {"principals: {", "", "rules: []", BOTH + "rule: []"}) {
      write(file, broken);
      watch.look();
      assertEquals(before, watch.now());
      assertTrue(watch.isRefused(), broken);
    }
    write(file, BOTH);
    watch.look();
    assertFalse(watch.isRefused());
    write(file, ONLY_BEN);
    watch.look();
    assertFalse(watch.isRefused());
    assertEquals(Optional.empty(), principal(watch, "a"));
  }

  @Test
  void aKeyThatComesLaterIsFound() throws IOException {
    write(file, ONLY_BEN);
    PolicyWatch watch = new PolicyWatch(file);
    write(file, "principals: {ana: {signed: true}}\nsigned: {secret: secret.txt}\n");
    watch.look();
    assertTrue(watch.isRefused());
    write(folder.resolve("secret.txt"), "s".repeat(32));
    watch.look();
    assertFalse(watch.isRefused());
    SignedTokens first = watch.now().policy().key();
    write(folder.resolve("secret.txt"), "t".repeat(32));
    watch.look();
    assertNotEquals(first, watch.now().policy().key());
  }

  @Test
  void aPrincipalThatLosesARightOfTheServerGetsAnotherSeal() throws IOException {
    String files = "rules: [{who: [ana, ben], may: %s}]\n";
    write(file, BOTH + files.formatted("[files, run_code]"));
    PolicyWatch watch = new PolicyWatch(file);
    String seal = watch.now().seals().of("ana");
    assertEquals(Optional.of("ana"), watch.now().seals().principal(seal));
    write(file, BOTH + files.formatted("files"));
    watch.look();
    assertNotEquals(seal, watch.now().seals().of("ana"));
    assertEquals(Optional.empty(), watch.now().seals().principal(seal));
    String next = watch.now().seals().of("ana");
    write(file, BOTH + files.formatted("[files, run_code]"));
    watch.look();
    assertEquals(next, watch.now().seals().of("ana"), "more rights need no other seal");
  }
}
