package io.keylake.spark.parquet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import org.apache.parquet.bytes.HeapByteBufferAllocator;
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridEncoder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Numbers that Parquet's encoder packed are read and passed over in random stretches. */
class PackedNumbersTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 8, 13, 20})
  void whatIsPassedOverIsNotRead(int bits) throws IOException {
    Random random = new Random(bits);
    for (int round = 0; round < 100; round++) {
      int[] numbers = numbers(random, bits);
      byte[] packed = packed(numbers, bits);
      PackedNumbers reader = new PackedNumbers(packed, 0, bits);
      int at = 0;
      while (at < numbers.length) {
        int many = Math.min(1 + random.nextInt(round % 2 == 0 ? 10 : 200), numbers.length - at);
        int[] expected = Arrays.copyOfRange(numbers, at, at + many);
        switch (random.nextInt(bits == 1 ? 3 : 2)) {
          case 0 -> {
            int[] into = new int[many];
            reader.read(into, 0, many);
            assertArrayEquals(expected, into);
          }
          case 1 -> reader.skip(many);
          default -> assertEquals(Arrays.stream(expected).sum(), reader.skipOnes(many));
        }
        at += many;
      }
    }
  }

  /** Stretches of one number among others. */
  private static int[] numbers(Random random, int bits) {
    int[] numbers = new int[1 + random.nextInt(2000)];
    int at = 0;
    while (at < numbers.length) {
      boolean isStretch = random.nextBoolean();
      int number = random.nextInt(1 << bits);
      for (int end = Math.min(at + 1 + random.nextInt(100), numbers.length); at < end; at++) {
        numbers[at] = isStretch ? number : random.nextInt(1 << bits);
      }
    }
    return numbers;
  }

  private static byte[] packed(int[] numbers, int bits) throws IOException {
    try (RunLengthBitPackingHybridEncoder encoder =
        new RunLengthBitPackingHybridEncoder(
            bits, 64, 1 << 20, HeapByteBufferAllocator.getInstance())) {
      for (int number : numbers) {
        encoder.writeInt(number);
      }
      ByteArrayOutputStream packed = new ByteArrayOutputStream();
      encoder.toBytes().writeAllTo(packed);
      return packed.toByteArray();
    }
  }
}
