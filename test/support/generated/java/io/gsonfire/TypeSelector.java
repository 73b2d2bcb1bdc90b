package io.gsonfire;

public interface TypeSelector<T> {}
