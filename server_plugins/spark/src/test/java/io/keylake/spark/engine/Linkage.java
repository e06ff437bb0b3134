package io.keylake.spark.engine;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.xbean.asm9.ClassReader;
import org.apache.xbean.asm9.ClassVisitor;
import org.apache.xbean.asm9.FieldVisitor;
import org.apache.xbean.asm9.Handle;
import org.apache.xbean.asm9.Label;
import org.apache.xbean.asm9.MethodVisitor;
import org.apache.xbean.asm9.Opcodes;
import org.apache.xbean.asm9.Type;

/**
 * Prints what the classes of a jar refer to and the class path does not have, and which methods
 * they leave abstract: what would fail as a linkage error when it is reached. Run with the jars of
 * another release of Spark, it tells whether the plug-in fits it.
 */
public final class Linkage {
  private static final int API = Opcodes.ASM9;
  private final Set<String> missing = new TreeSet<>();
  private String looking;

  /** The only argument is the jar; its own classes are on the class path. */
  public static void main(String[] arguments) throws IOException {
    Linkage linkage = new Linkage();
    int classes = 0;
    try (JarFile jar = new JarFile(arguments[0])) {
      for (JarEntry entry : jar.stream().toList()) {
        if (entry.getName().endsWith(".class") && !entry.getName().startsWith("META-INF")) {
          try (InputStream bytes = jar.getInputStream(entry)) {
            linkage.look(new ClassReader(bytes));
            classes++;
          }
        }
      }
    }
    linkage.missing.forEach(System.out::println);
    System.out.printf("%d classes, %d missing%n", classes, linkage.missing.size());
  }

  private void look(ClassReader reader) {
    looking = reader.getClassName().replace('/', '.');
    Class<?> own = type(reader.getClassName());
    if (own == null) {
      return;
    }
    if (!java.lang.reflect.Modifier.isAbstract(own.getModifiers())) {
      leftAbstract(own);
    }
    reader.accept(new References(), ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
  }

  private void leftAbstract(Class<?> own) {
    List<java.lang.reflect.Method> all = new ArrayList<>();
    lineage(own).forEach(each -> all.addAll(Arrays.asList(each.getDeclaredMethods())));
    for (java.lang.reflect.Method method : own.getMethods()) {
      boolean isDone =
          all.stream()
              .anyMatch(
                  each ->
                      !java.lang.reflect.Modifier.isAbstract(each.getModifiers())
                          && each.getName().equals(method.getName())
                          && Type.getMethodDescriptor(each)
                              .equals(Type.getMethodDescriptor(method)));
      if (java.lang.reflect.Modifier.isAbstract(method.getModifiers()) && !isDone) {
        missing.add(looking + " leaves abstract: " + method);
      }
    }
  }

  private final class References extends ClassVisitor {
    References() {
      super(API);
    }

    @Override
    public FieldVisitor visitField(
        int access, String name, String descriptor, String signature, Object value) {
      types(Type.getType(descriptor));
      return null;
    }

    @Override
    public MethodVisitor visitMethod(
        int access, String name, String descriptor, String signature, String[] exceptions) {
      types(Type.getMethodType(descriptor));
      return new MethodVisitor(API) {
        @Override
        public void visitTypeInsn(int opcode, String type) {
          types(Type.getObjectType(type));
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String field, String of) {
          boolean isThere =
              lineage(type(owner)).stream()
                  .flatMap(each -> Arrays.stream(each.getDeclaredFields()))
                  .anyMatch(
                      each ->
                          each.getName().equals(field)
                              && Type.getDescriptor(each.getType()).equals(of));
          if (!isThere) {
            missing.add(looking + " uses " + owner + "." + field + " " + of);
          }
        }

        @Override
        public void visitMethodInsn(
            int opcode, String owner, String method, String of, boolean isInterface) {
          method(owner, method, of);
        }

        @Override
        public void visitInvokeDynamicInsn(
            String called, String of, Handle bootstrap, Object... arguments) {
          types(Type.getMethodType(of));
          for (Object argument : arguments) {
            if (argument instanceof Handle handle && handle.getTag() >= Opcodes.H_INVOKEVIRTUAL) {
              method(handle.getOwner(), handle.getName(), handle.getDesc());
            }
          }
        }

        @Override
        public void visitLdcInsn(Object constant) {
          if (constant instanceof Type type) {
            types(type);
          }
        }

        @Override
        public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
          if (type != null) {
            types(Type.getObjectType(type));
          }
        }
      };
    }
  }

  private void method(String owner, String name, String descriptor) {
    if (owner.startsWith("[")) {
      return; // an array's clone
    }
    types(Type.getMethodType(descriptor));
    Class<?> of = type(owner);
    boolean isThere =
        name.equals("<init>")
            ? of != null
                && Arrays.stream(of.getDeclaredConstructors())
                    .anyMatch(each -> Type.getConstructorDescriptor(each).equals(descriptor))
            : lineage(of).stream()
                .flatMap(each -> Arrays.stream(each.getDeclaredMethods()))
                .anyMatch(
                    each ->
                        each.getName().equals(name)
                            && (Type.getMethodDescriptor(each).equals(descriptor)
                                || of.getName().startsWith("java.lang.invoke.")));
    if (!isThere) {
      missing.add(looking + " calls " + owner + "." + name + descriptor);
    }
  }

  private void types(Type type) {
    switch (type.getSort()) {
      case Type.METHOD -> {
        types(type.getReturnType());
        Arrays.stream(type.getArgumentTypes()).forEach(this::types);
      }
      case Type.ARRAY -> types(type.getElementType());
      case Type.OBJECT -> type(type.getInternalName());
      default -> {}
    }
  }

  /** Null, and noted, where there is none of that name. */
  private Class<?> type(String name) {
    try {
      return Class.forName(name.replace('/', '.'), false, Linkage.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      missing.add(looking + " names " + name + ": " + e);
      return null;
    }
  }

  /** The class with all that it inherits from. */
  private static Set<Class<?>> lineage(Class<?> of) {
    Set<Class<?>> found = new java.util.LinkedHashSet<>();
    if (of != null) {
      found.add(of);
      found.addAll(lineage(of.getSuperclass()));
      Arrays.stream(of.getInterfaces()).forEach(each -> found.addAll(lineage(each)));
      if (of.isInterface()) {
        found.add(Object.class);
      }
    }
    return found;
  }
}
