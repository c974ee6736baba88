package dev.carrel.server.rest;

import dev.carrel.control.sandbox.PoolStatus;
import dev.carrel.control.sandbox.WarmPools;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;

/** What is made ahead of need; for administrators, since pools serve all tenants. */
final class PoolRoutes {
  private final WarmPools pools;
  private final Supplier<Set<String>> images;

  PoolRoutes(WarmPools pools, Supplier<Set<String>> images) {
    this.pools = pools;
    this.images = images;
  }

  void addTo(Router router) {
    router
        .get("/api/v1/settings/sandbox/pool-summary", this::summary)
        .get("/api/v1/admin/sandbox-images/{image}/pool", this::pool);
  }

  private void summary(Exchange exchange) {
    AdminRoutes.requireAdmin(exchange.caller());
    List<PoolStatus> all = pools.enabled() ? pools.status() : List.of();
    exchange.json(200, Summary.of(all, images.get().size(), pools.makesBoxes()));
  }

  private void pool(Exchange exchange) {
    AdminRoutes.requireAdmin(exchange.caller());
    String image = exchange.parameter("image");
    if (!images.get().contains(image)) {
      throw new SandboxException(
          ErrorCode.IMAGE_NOT_FOUND, "there is no image " + Text.printable(image, 64));
    }
    exchange.json(
        200,
        pools.status().stream()
            .filter(pool -> pool.image().equals(image))
            .findFirst()
            .map(Pool::of)
            .orElseGet(() -> Pool.none(image)));
  }

  record Summary(
      int totalImages,
      int imagesWithPool,
      int totalIdle,
      int totalMinTarget,
      int totalMaxTarget,
      boolean warmPoolEnabled,
      List<Pool> perImage) {
    static Summary of(List<PoolStatus> pools, int images, boolean enabled) {
      return new Summary(
          images,
          pools.size(),
          pools.stream().mapToInt(PoolStatus::idle).sum(),
          pools.stream().mapToInt(PoolStatus::min).sum(),
          pools.stream().mapToInt(PoolStatus::max).sum(),
          enabled,
          pools.stream().map(Pool::of).toList());
    }
  }

  record Pool(
      String imageId,
      String imageName,
      int warmPoolMin,
      int warmPoolMax,
      int idleCount,
      int target,
      String provider,
      Set<String> languages,
      long hits,
      long misses) {
    static Pool of(PoolStatus pool) {
      return new Pool(
          pool.image(),
          pool.image(),
          pool.min(),
          pool.max(),
          pool.idle(),
          pool.target(),
          pool.engine(),
          new TreeSet<>(pool.languages()),
          pool.hits(),
          pool.misses());
    }

    static Pool none(String image) {
      return new Pool(image, image, 0, 0, 0, 0, "", Set.of(), 0, 0);
    }
  }
}
